-- command: poll
-- args: settings, floor, request, alive
-- answers: Promised, Granted, Queued, WaitEnded
-- refuses: NOT_HOLDER

command('poll', FREES, by_request, function(step, args)
  local lock, request = step.lock, args[3]
  local offer = offer_by(step, REQUEST, request)
  if offer then
    return { 'Promised', offer }
  end
  local held = find(lock.holders, REQUEST, request)
  if held then
    return { 'Granted', held }
  end
  local place = place_of(lock, request)
  if place then
    local waiter = waiter_of(lock, request)
    waiter[ALIVE_UNTIL] = math.max(waiter[ALIVE_UNTIL], math.min(NEVER, step.now + tonumber(args[4])))
    settle_at(step, waiter, WAITER_HOME)
    keep_waiter(step, waiter)
    return { 'Queued', place }
  end
  local ended = end_of_request(step, request)
  if ended then
    return { 'WaitEnded', ended[END_HOW] }
  end
  return refuse('NOT_HOLDER', 'cannot poll: the request is not known; acquire again')
end)
