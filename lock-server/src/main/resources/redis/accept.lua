-- command: accept
-- args: settings, floor, grant, token, session, gen
-- answers: Granted, Queued
-- refuses: TOKEN_MISMATCH, NOT_HOLDER, LEASE_EXPIRED

command('accept', FREES, nil, function(step, args)
  local grant, token, session, gen = args[3], tonumber(args[4]), args[5], tonumber(args[6])
  local offer = offer_by(step, GRANT, grant)
  if offer and session_of(offer[WAITER]) == session then
    if offer[OFFER_TOKEN] ~= token then
      return refuse_other_token('accept', token)
    end
    local held = accepted(step, offer)
    resume_by(step, held, gen)
    return { 'Granted', held }
  end
  local held = find(step.lock.holders, GRANT, grant)
  if held and session_of(held) == session then
    if held[TOKEN] ~= token then
      return refuse_other_token('accept', token)
    end
    resume_by(step, held, gen)
    settle_at(step, held, HOME)
    return { 'Granted', renew(step, held) }
  end
  local waiter, place = waiter_by_grant(step, grant)
  if waiter and session_of(waiter) == session then
    return { 'Queued', place }
  end
  return refuse_holder(step, grant, session, 'accept')
end)
