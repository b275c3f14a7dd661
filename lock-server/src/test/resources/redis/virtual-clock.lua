-- In place of clock.lua: the time and the replication id are what the test says; '' is the real id. And an error at a call of its choice.

local virtual_millis, virtual_instance = 0, 'a0'
local calls, fails_at = 0, 0

local function now_millis()
  return virtual_millis
end

local function called(name)
  calls = calls + 1
  if calls == fails_at then
    return 'injected'
  end
end

local function redis_call(name, ...)
  if called() then
    error('injected')
  end
  if name == 'INFO' and virtual_instance ~= '' then
    return 'connected_slaves:0\r\nmaster_replid:' .. virtual_instance .. '\r\n'
  end
  return redis.call(name, ...)
end

local function redis_pcall(...)
  if called() then
    return { err = 'injected' }
  end
  return redis.pcall(...)
end
