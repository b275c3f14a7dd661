-- command: forcerelease
-- args: settings, floor, token, by, why
-- answers: ForceReleased
-- refuses:

-- Of a minimum hold time whose lease is over.
local NO_REQUEST = { [GRANT] = NO_GRANT, [OWNER] = '' }

command('forcerelease', FREES, nil, function(step, args)
  -- Of a lease, or of any of its turns; 0: all.
  local lock, token, released = step.lock, tonumber(args[3]), 0
  local detail = 'by ' .. args[4] .. ': ' .. args[5]
  for _, held in ipairs(copy_of(lock.holders)) do
    if token == 0 or (token >= held[TOKEN] and token < held[TOKEN] + TOKENS_PER_GRANT) then
      end_grant(step, held, 'FORCE_RELEASED', detail)
      released = released + 1
    end
  end
  if lock.hold_until > step.now and (token == 0 or released > 0) then
    lock.hold_until, lock.changed = 0, true
    if released == 0 then
      write_history(step, 'FORCE_RELEASED', NO_REQUEST, 0, detail)
      released = 1
    end
  end
  return { 'ForceReleased', released }
end)
