-- command: resume
-- args: settings, floor, grant, token, session, gen
-- answers: Resumed
-- refuses: NOT_HOLDER, TOKEN_MISMATCH, LEASE_EXPIRED

local function resume(step, grant, token, session, gen)
  local held, refused = require_holder(step, grant, token, session, 'resume')
  if not held then
    return refused
  end
  if held[GEN] > gen then
    return refuse('NOT_HOLDER', 'cannot resume: a newer stream of this session has taken the grant over')
  end
  resume_by(step, held, gen)
  settle_at(step, held, HOME)
  return { 'Resumed', renew(step, held) }
end

command('resume', FREES, nil, function(step, args)
  return resume(step, args[3], tonumber(args[4]), args[5], tonumber(args[6]))
end)
