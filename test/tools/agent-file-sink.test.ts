import { expect, test } from 'vitest'
import { systemClock } from '../../src/system.ts'
import { fileTools } from '../../src/tools/files/file-tools.ts'

test.each(['write_file', 'edit_file'])('%s says that it changes an agent file, however the path is spelled', (name) => {
  const tool = fileTools(systemClock).find((each) => each.name === name)
  const sinkOf = (path: string) => tool?.sink?.({ path })?.sink
  const agentFiles = [
    '.claude/agents/a.md',
    'sub/.Claude//./AGENTS/a.md',
    '.claude/x/../agents/a.md',
    '/w/.heddle/skills/a',
  ]
  expect(agentFiles.filter((path) => sinkOf(path) !== 'agents')).toEqual([])
  expect(['claude/agents.md', '.claude/agents/../a.md', 'agents/a.md'].filter((path) => sinkOf(path))).toEqual([])
})
