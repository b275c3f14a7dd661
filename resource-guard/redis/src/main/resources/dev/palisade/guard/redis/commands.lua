-- The work of a call that is a list of commands: each with the number of its words, then of each key with a known type
-- the number of its command, the key and the type. Goes before fence.lua.
-- ARGV[4]: the number of commands; from ARGV[5]: count, words, count, words, ..., number, key, type, ...
local commands, at = {}, 5
for i = 1, tonumber(ARGV[4]) do
    local count = tonumber(ARGV[at])
    commands[i] = {unpack(ARGV, at + 1, at + count)}
    at = at + count + 1
end

-- Finds before anything is written what can be found: Redis takes nothing back when a later command fails.
-- Returns nil, or the reply that names the first command that would fail.
local function check()
    for i, words in ipairs(commands) do
        local known, allowed = pcall(redis.acl_check_cmd, unpack(words))
        if not known then
            return {'refused', i, 'ERR this Redis does not know the command'}
        end
        if not allowed then
            return {'refused', i, 'NOPERM this user may not run the command, or not on this key'}
        end
    end
    for i = at, #ARGV, 3 do
        local kept = redis.pcall('TYPE', ARGV[i + 1])
        if kept.ok and kept.ok ~= 'none' and kept.ok ~= ARGV[i + 2] then
            local why = "WRONGTYPE key '" .. ARGV[i + 1] .. "' is a " .. kept.ok .. ', not a ' .. ARGV[i + 2]
            return {'refused', tonumber(ARGV[i]), why}
        end
    end
    return nil
end

-- Runs the commands in order and ends at the first that fails. Never raises.
local function work()
    local replies = {}
    for i, words in ipairs(commands) do
        local reply = redis.pcall(unpack(words))
        if type(reply) == 'table' and reply.err then
            return {'failed', i, reply.err}
        end
        replies[i] = reply
    end
    return {'done', replies}
end
