import { again } from './corrupt.ts'
import type { planted } from './planted.ts'

const aTask = `id = (SELECT max(task_id) FROM runs)`
const aTaskRun = `id = (SELECT max(id) FROM runs WHERE kind = 'task')`
const anEnd = `payload_json LIKE '%"plan:1 %'`

/** The same of what a plan leaves. */
export const plantedInPlans: typeof planted = [
  ['I3', 'a plan that hides what failed', 'hall', /plan 1 is completed/, `UPDATE projects SET status = 'completed'`],
  [
    'I3',
    'a task that tells another end than its run',
    'hall',
    /is completed, and its run failed/,
    `UPDATE tasks SET status = 'completed'`,
  ],
  [
    'I3',
    'a task that was begun once more than anybody wanted',
    'hall',
    /was begun 2 times, and wanted 1 times/,
    `UPDATE tasks SET attempts = 2 WHERE ${aTask}; ${again('runs', aTaskRun, `id = 'copy'`)}`,
  ],
  ['I3', 'an attempt without a run', 'hall', /was begun 2 times, with 1 runs/, `UPDATE tasks SET attempts = 2`],
  [
    'I3',
    'a task that failed without having begun',
    'hall',
    /is failed, and was never begun/,
    `DELETE FROM runs WHERE kind = 'task'; UPDATE tasks SET attempts = 0`,
  ],
  ['I4', 'a plan whose end nobody was told', 'hall', /was told to 0 times/, `DELETE FROM inbox WHERE ${anEnd}`],
  ['I4', 'a plan whose end was told twice', 'hall', /was told to 2 times/, again('inbox', anEnd, `id = 'copy'`)],
]
