-- command: release
-- args: settings, floor, grant, token, session
-- answers: Released
-- refuses: NOT_HOLDER, TOKEN_MISMATCH, LEASE_EXPIRED

command('release', FREES, nil, function(step, args)
  local grant, token, session = args[3], tonumber(args[4]), args[5]
  local offer = offer_by(step, GRANT, grant)
  if offer and offer[OFFER_TOKEN] == token and session_of(offer[WAITER]) == session then
    finish(step, offer[WAITER], token, 'RELEASED', 0, '', step.settings.home)
    return { 'Released' }
  end
  local held, refused = require_holder(step, grant, token, session, 'release')
  if not held then
    return refused[REFUSED_ENDED] == 'RELEASED' and { 'Released' } or refused -- By itself, before: its answer was lost.
  end
  end_grant(step, held, 'RELEASED')
  return { 'Released' }
end)
