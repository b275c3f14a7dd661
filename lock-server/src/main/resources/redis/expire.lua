-- command: expire
-- args: settings, floor
-- answers: Expired
-- refuses:

-- Keeps the last of a lock's history among those of its domain, and drops the lock. The newest entry with a token is among
-- them: a guard reads there which other guard had its name.
local function forget_lock(step)
  local keys, entries, gaps, with_token, oldest = step.keys, {}, {}, false, nil
  for i = step.lock.next_entry - 1, math.max(0, step.lock.next_entry - HISTORY_MAX), -1 do
    if #entries >= HISTORY_KEPT and with_token then
      break
    end
    local packed = redis.call('HGET', keys.lock, 'e' .. (i % HISTORY_MAX))
    local entry = packed and unpack_entry(packed)
    if entry and (#entries < HISTORY_KEPT or entry[3] > 0) then
      if oldest and oldest > i + 1 then
        gaps[1] = 2
      end
      table.insert(entries, 1, entry)
      oldest = i
      with_token = with_token or entry[3] > 0
    end
  end
  if oldest and oldest > 0 then
    gaps[#gaps + 1] = 1
  end
  redis.call('UNLINK', keys.lock)
  redis.call('ZREM', keys.due, name_of(keys))
  redis.call('ZREM', keys.names, name_of(keys))
  if #entries > 0 then
    redis.pcall('XADD', keys.history, 'MAXLEN', '~', HISTORIES_MAX, '*', 'n', name_of(keys), 'e', cmsgpack.pack(entries),
      'g', cmsgpack.pack(gaps))
  end
end

-- Also where a lock is forgotten: whoever looks at what is due sends this.
command('expire', FREES, nil, function(step)
  local lock = step.lock
  if not lock.changed and is_idle(lock) and forgettable_at(lock) <= step.now then
    forget_lock(step)
  else
    lock.looked_at = true -- It is due again at another time.
    lock.changed = lock.changed or not lock.is_new
  end
  return { 'Expired' }
end)
