-- command: leave
-- args: settings, floor, request, gen, detail
-- answers: Left
-- refuses:

-- Above every generation of a stream. A server that asks for a broken stream names that stream's.
local BY_CLIENT = NEVER

command('leave', FREES, by_request, function(step, args)
  local request, gen = args[3], tonumber(args[4])
  local held = find(step.lock.holders, REQUEST, request)
  if held then
    if held[GEN] <= gen then
      end_grant(step, held, gen == BY_CLIENT and 'RELEASED' or 'ABANDONED', gen ~= BY_CLIENT and args[5] or '')
    end
    return { 'Left', 0 }
  end
  local offer, place = offer_by(step, REQUEST, request), place_of(step.lock, request)
  local waiting = offer and offer[WAITER] or place and waiter_of(step.lock, request)
  if not waiting then
    -- The acquire may still be on its way: when it comes, it must not be granted.
    if not end_of_request(step, request) then
      remember_end(step, request, NO_GRANT, 0, 'LEFT', '')
      tell(step, step.settings.home, { 'Ended', request, NO_GRANT, 0, 'LEFT', '', 0 })
    end
    return { 'Left', 0 }
  end
  if waiting[GEN] > gen then
    return { 'Left', 0 }
  end
  finish(step, waiting, offer and offer[OFFER_TOKEN] or 0, 'LEFT', 0, '', waiting[WAITER_HOME])
  return { 'Left', 1 }
end)
