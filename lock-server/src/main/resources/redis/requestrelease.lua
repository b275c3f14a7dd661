-- command: requestrelease
-- args: settings, floor, by, why
-- answers: ReleaseRequested
-- refuses:

command('requestrelease', FREES, nil, function(step, args)
  for _, held in ipairs(step.lock.holders) do
    tell(step, held[HOME], { 'ReleaseRequested', held[REQUEST], held[GRANT], args[3], args[4] })
    write_history(step, 'RELEASE_REQUESTED', held, held[TOKEN], 'by ' .. args[3] .. ': ' .. args[4])
    step.lock.changed = true
  end
  return { 'ReleaseRequested', #step.lock.holders }
end)
