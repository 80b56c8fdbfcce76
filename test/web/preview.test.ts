import { expect, test } from 'vitest'
import { previewOf } from '../../web/src/text/preview.ts'

test('a report is told by who made it and how it ended, and as reported where its beginning does not say how', () => {
  const start = '[agent_result:2] run:4bnjq7 @project-planner "Plan this: survey this folder and write'
  expect(
    [
      `${start}" completed: 6 tasks`,
      `${start}" timed out: after 60 s`,
      `${start} a report with a summary per part,…`,
      '[agent_result:3] task:9 "summarise src/web" failed: the script failed',
      '[agent_result:3] task:9 "summarise src/web and everything…',
      'what is [agent_result:2]?',
    ].map(previewOf),
  ).toEqual([
    '@project-planner is done',
    '@project-planner timed out',
    '@project-planner reported',
    '“summarise src/web” failed',
    'task:9 reported',
    'what is [agent_result:2]?',
  ])
})
