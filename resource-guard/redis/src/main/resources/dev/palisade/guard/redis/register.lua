-- One step of a register that guards share: sets fields if others are, byte for byte, what the guard has read. It decides
-- nothing; what a step comes to is decided in Java, and this lets it happen only if nothing was changed meanwhile.
-- Before the first write anything may raise, after it nothing may: so an error reply always means that nothing was changed.
-- KEYS[1]: the register, a hash.
-- ARGV: on which process and history of Redis the step counts, or '' for any; how many fields it has read; each of
-- those with its value ('': none); then each field to set with its value ('': delete it).
-- Replies {'done', process}, {'other', process}: this is another Redis, or has another past; {'expires'}; or {'changed',
-- process, value, ...}: what the fields hold, '' for none.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local history = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
local process = (run or '?') .. '.' .. (history or '?')
if ARGV[1] ~= '' and ARGV[1] ~= process then
    return {'other', process}
end
if redis.call('PTTL', KEYS[1]) >= 0 then
    return {'expires'}
end
local last = 2 + 2 * tonumber(ARGV[2])
local same, reply = true, {'changed', process}
for i = 3, last, 2 do
    local value = redis.call('HGET', KEYS[1], ARGV[i]) or ''
    reply[#reply + 1] = value
    same = same and value == ARGV[i + 1]
end
if not same then
    return reply
end
for i = last + 1, #ARGV, 2 do
    if ARGV[i + 1] == '' then
        redis.call('HDEL', KEYS[1], ARGV[i])
    else
        redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    end
end
return {'done', process}
