-- The fence inside Redis: compares the caller's token with the mark of the resource, raises the mark, does the work. All
-- in one script, so no other call comes between. Before the first write anything may raise, after it nothing may: so an
-- error reply always means that nothing was applied.
-- KEYS[1]: the mark, a hash: x token and g grant of the highest EXCLUSIVE grant, s token of the highest SHARED one, xt
-- and st when each was first admitted, in ms since 1970 by this Redis. KEYS[2]...: the keys of the work.
-- ARGV: mode, token, grant, then what the work wants.
-- Replies {'done', replies, mark} or {'failed', number, error, mark}: the mark was raised.
-- {'stale', mark}, {'refused', number, error}, {'damaged'}, {'evicts', policy}: nothing was changed.
local shared, token, grant = ARGV[1] == 'SHARED', tonumber(ARGV[2]), ARGV[3]
local mark = redis.call('HMGET', KEYS[1], 'x', 'g', 's', 'xt', 'st')
local is_new = not mark[1] and not mark[3]
for i, none in ipairs({'0', '', '0', '0', '0'}) do
    mark[i] = mark[i] or none
end
local x, s = tonumber(mark[1]), tonumber(mark[3])
local sound = #mark[2] == 0 or #mark[2] == 32 and string.match(mark[2], '^%x+$')
for _, i in ipairs({1, 3, 4, 5}) do
    sound = sound and string.match(mark[i], '^%d+$') and tonumber(mark[i]) < 2 ^ 53
end
if not sound or (x > 0) == (mark[2] == '') then
    return {'damaged'}
end
if is_new then
    -- A mark that was evicted looks like one that never was.
    local policy = string.match(redis.call('INFO', 'memory'), 'maxmemory_policy:(%S+)') or 'unknown'
    if policy == 'unknown' or string.sub(policy, 1, 8) == 'allkeys-' then
        return {'evicts', policy}
    end
end

local admitted
if shared then
    admitted = token > x
else
    admitted = token > s and (token > x or (token == x and grant == mark[2]))
end
if not admitted then
    return {'stale', mark}
end
local refused = check()
if refused then
    return refused
end

-- Milliseconds since 1970 by this Redis.
local function now()
    local time = redis.call('TIME')
    return time[1] .. string.format('%03d', math.floor(tonumber(time[2]) / 1000))
end

-- The first write of all: Redis refuses it, and with it the whole call, when it is full, a replica or cannot save.
if shared and token > s then
    mark[3], mark[5] = ARGV[2], now()
    redis.call('HSET', KEYS[1], 's', mark[3], 'st', mark[5])
elseif not shared and token > x then
    mark[1], mark[2], mark[4] = ARGV[2], grant, now()
    redis.call('HSET', KEYS[1], 'x', mark[1], 'g', grant, 'xt', mark[4])
end
local result = work()
result[#result + 1] = mark
return result
