-- command: revoke
-- args: settings, floor, by, why
-- answers: RevokeAsked
-- refuses:

command('revoke', FREES, nil, function(step, args)
  for _, held in ipairs(step.lock.holders) do
    tell(step, held[HOME], { 'RevokeAsked', held[REQUEST], held[GRANT], args[3], args[4] })
    write_history(step, 'REVOKE_ASKED', held, held[TOKEN], 'by ' .. args[3] .. ': ' .. args[4])
    step.lock.changed = true
  end
  return { 'RevokeAsked', #step.lock.holders }
end)
