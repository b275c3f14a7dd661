-- function: renewals
-- keys: of each lease, counter, index of what is due, lock
-- args: settings, session, then of each lease floor, grant, token
-- answers: of each lease 1, or 0 when nothing was done
--
-- Renews the leases of one session to whose locks nothing else happens by now: most of them, most of the time. To the others
-- nothing is done; each is to be renewed by itself, which does and tells everything.

-- Whether it was renewed. Whatever a step of the machine would do besides is found here.
local function renewed_alone(keys, epoch, now, home, session, grant, token)
  local head = redis.call('HGET', keys.lock, 'h')
  if not head or string.byte(head) ~= FORMAT then
    return false
  end
  local _, started, delay_until, forgotten, due, waiter_due, first_end, first_end_at, next_end, first_try, first_try_at, next_try, last_end_at,
    next_entry, hold_until, holders, offers, at = struct.unpack(HEAD, head)
  if started ~= epoch.started or holders ~= 1 or offers ~= 0 or waiter_due <= now then
    return false
  end
  local held = unpack_held(head, at)
  if held[GRANT] ~= grant or held[TOKEN] ~= token or session_of(held) ~= session then
    return false
  end
  -- A SHARED one may have to let others in beside it.
  if held[MODE] ~= EXCLUSIVE or held[HOME] ~= home or held[UNTIL] <= now then
    return false
  end
  held[UNTIL] = now + held[TTL]
  local next_due = math.min(held[UNTIL], waiter_due, delay_until > now and delay_until or NEVER)
  -- The index is moved before anybody looks there, and not each time. It is never later than the head.
  local sooner = next_due < due
  local later = not sooner and due - now < held[TTL] / 2
  if sooner then
    redis.call('ZADD', keys.due, as_text(next_due), name_of(keys))
  end
  if sooner or later then
    due = next_due
  end
  redis.call('HSET', keys.lock, 'h', struct.pack(HEAD, FORMAT, started, delay_until, forgotten, due, waiter_due, first_end, first_end_at,
    next_end, first_try, first_try_at, next_try, last_end_at, next_entry, hold_until, 1, 0) .. pack_held(held))
  if later then
    redis.pcall('ZADD', keys.due, as_text(next_due), name_of(keys))
  end
  return true
end

redis.register_function({
  function_name = 'palisade_renewals',
  flags = FREES,
  callback = function(keys, args)
    local now, home, session = now_millis(), settings_of(args[1]).home, args[2]
    local counter, epoch
    local done = {}
    for i = 1, #keys / 3 do
      if keys[3 * i - 2] ~= counter then
        counter = keys[3 * i - 2]
        epoch = epoch_in_order(counter, now, tonumber(args[3 * i]))
      end
      local of_lock = { due = keys[3 * i - 1], lock = keys[3 * i] }
      local renewed = epoch
        and renewed_alone(of_lock, epoch, now, home, session, args[3 * i + 1], tonumber(args[3 * i + 2]))
      done[i] = renewed and '1' or '0'
    end
    return { table.concat(done), now }
  end,
})
