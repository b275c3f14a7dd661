-- command: forcerelease
-- args: settings, floor, token, by, why
-- answers: ForceReleased
-- refuses:

command('forcerelease', FREES, nil, function(step, args)
  -- Of a lease, or of any of its turns; 0: all.
  local token, released = tonumber(args[3]), 0
  for _, held in ipairs(copy_of(step.lock.holders)) do
    if token == 0 or (token >= held[TOKEN] and token < held[TOKEN] + TOKENS_PER_GRANT) then
      end_grant(step, held, 'FORCE_RELEASED', 'by ' .. args[4] .. ': ' .. args[5])
      released = released + 1
    end
  end
  return { 'ForceReleased', released }
end)
