-- command: reclaim
-- args: settings, floor, request, gen, grant, mode, ttl, lock-delay, owner, purpose, token, at-least
-- answers: Resumed
-- refuses: NOT_HOLDER, TOKEN_MISMATCH, LEASE_EXPIRED

local function conflicts(mode, held)
  return mode == EXCLUSIVE or held[MODE] == EXCLUSIVE
end

-- Neither held nor ended, as far as this Redis knows; it may believe that the request still waits.
local function is_forgotten(step, request, gen, grant)
  if find(step.lock.holders, GRANT, grant) or find(step.lock.holders, REQUEST, request) then
    return false
  end
  if end_of_grant(step, grant) or end_of_request(step, request) then
    return false
  end
  -- Another's, with that grant id; or a newer stream of its session has asked since.
  local _, place = waiter_by_grant(step, grant)
  local mine = place_of(step.lock, request)
  return (not place or place == mine) and (not mine or waiter_of(step.lock, request)[GEN] <= gen)
end

-- An EXCLUSIVE grant has ended when any later one is made. Of an end nobody knows whether it was of a SHARED one.
local function is_outlived(step, mode, token)
  local lock = step.lock
  for _, held in ipairs(lock.holders) do
    if conflicts(mode, held) and held[TOKEN] >= token then
      return true
    end
  end
  local ends = lock.kept[ENDS]
  for number = ends.first, mode == EXCLUSIVE and ends.next - 1 or 0 do
    local _, request = end_numbered(step, ends, number)
    local ended = request and end_of_request(step, request)
    if ended and ended[END_TOKEN] > token then
      return true
    end
  end
  return false
end

-- Also when memory is full: it brings back what was there.
command('reclaim', FREES, by_request, function(step, args)
  local request, gen, grant, mode, token = args[3], tonumber(args[4]), args[5], tonumber(args[6]), tonumber(args[11])
  if recovering(step) and is_forgotten(step, request, gen, grant) then
    if is_outlived(step, mode, token) then
      return refuse('NOT_HOLDER', 'cannot reclaim: a newer grant than token ' .. as_text(token) .. ' is known; acquire again')
    end
    for _, held in ipairs(copy_of(step.lock.holders)) do
      if conflicts(mode, held) then
        -- No lock-delay: that a newer grant was made shows that it was over.
        finish(step, held, held[TOKEN], 'EXPIRED', 0, '', held[HOME])
      end
    end
    remove(step, request)
    local held = {
      request, gen, grant, mode, tonumber(args[7]), tonumber(args[8]), args[9], args[10], token, step.now,
      step.now + tonumber(args[7]), step.settings.home, at_least_of(args[12]),
    }
    add_holder(step.lock, held)
    write_history(step, 'RECLAIMED', held, token, held[PURPOSE])
  end
  return resume(step, grant, token, string.sub(request, 1, 16), gen)
end)
