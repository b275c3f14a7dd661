-- In place of clock.lua: the time is what the test says. And an error at a call of its choice.

local virtual_millis = 0
local calls, fails_at = 0, 0

local function now_millis()
  return virtual_millis
end

local function redis_call(...)
  calls = calls + 1
  if calls == fails_at then
    error('injected')
  end
  return redis.call(...)
end

-- As Redis does it: the error is the value.
local function redis_pcall(...)
  calls = calls + 1
  if calls == fails_at then
    return { err = 'injected' }
  end
  return redis.pcall(...)
end
