import type { TaskStatus } from '../../domain/plan.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'

/** Max tasks of one narrative. */
const maxTasks = 100

/** A task that a narrative tells of, as it is now. */
interface NarratedTask {
  id: number
  title: string
  status: TaskStatus
}

/** Records the tasks that a narrative tells of. */
export async function insertNarrativeTasks(tx: Tx, narrativeId: number, taskIds: readonly number[]): Promise<void> {
  for (const taskId of new Set(taskIds.slice(0, maxTasks))) await tx.run(insert({ narrativeId, taskId }))
}

/** Tasks that a narrative tells of, in planned order. */
export async function tasksOfNarrative(rows: Reading, narrativeId: number): Promise<NarratedTask[]> {
  return rows.all(ofNarrative({ narrativeId }))
}

/** Narratives that tell of a task, oldest first. */
export async function narrativesOfTask(rows: Reading, taskId: number): Promise<number[]> {
  return (await rows.all(ofTask({ taskId }))).map(({ narrative_id }) => narrative_id)
}

/** Tasks of the plans that the requests of these runs carry out, in planned order. */
export async function tasksOfRequests(rows: Reading, runIds: readonly string[]): Promise<number[]> {
  if (runIds.length === 0) return []
  const requests = rows.build.selectFrom('runs').select('root_run_id').where('id', 'in', runIds)
  const found = await rows.all(
    rows.build
      .selectFrom('projects')
      .innerJoin('tasks', 'tasks.project_id', 'projects.id')
      .select('tasks.id')
      .where('projects.root_run_id', 'in', requests)
      .where('tasks.dropped_in', 'is', null)
      .orderBy('tasks.id')
      .limit(maxTasks),
  )
  return found.map(({ id }) => id)
}

/** Which of these tasks belong to plans of this folder. */
export async function tasksInFolder(rows: Reading, ids: readonly number[], folder: string): Promise<Set<number>> {
  if (ids.length === 0) return new Set()
  const found = await rows.all(
    rows.build
      .selectFrom('tasks')
      .innerJoin('projects', 'projects.id', 'tasks.project_id')
      .innerJoin('sessions', 'sessions.id', 'projects.session_id')
      .select('tasks.id')
      .where('tasks.id', 'in', ids)
      .where('sessions.folder', '=', folder),
  )
  return new Set(found.map(({ id }) => id))
}

const insert = statement((db, arg: { narrativeId: number; taskId: number }) =>
  db.insertInto('narrative_tasks').values({ narrative_id: arg.narrativeId, task_id: arg.taskId }),
)

const ofNarrative = statement((db, arg: { narrativeId: number }) =>
  db
    .selectFrom('narrative_tasks')
    .innerJoin('tasks', 'tasks.id', 'narrative_tasks.task_id')
    .select(['tasks.id', 'tasks.title', 'tasks.status'])
    .where('narrative_tasks.narrative_id', '=', arg.narrativeId)
    .orderBy('tasks.id'),
)

const ofTask = statement((db, arg: { taskId: number }) =>
  db.selectFrom('narrative_tasks').select('narrative_id').where('task_id', '=', arg.taskId).orderBy('narrative_id'),
)
