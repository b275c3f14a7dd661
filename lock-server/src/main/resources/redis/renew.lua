-- command: renew
-- args: settings, floor, grant, token, session
-- answers: Renewed
-- refuses: NOT_HOLDER, TOKEN_MISMATCH, LEASE_EXPIRED

command('renew', FREES, nil, function(step, args)
  local held, refused = require_holder(step, args[3], tonumber(args[4]), args[5], 'renew')
  if not held then
    return refused
  end
  settle_at(step, held, HOME)
  return { 'Renewed', renew(step, held) }
end)
