import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { TaskLine } from '../../api/wire.ts'
import { rowMark } from '../../parts/row-keys.ts'
import { State } from '../../parts/state.tsx'
import { formatDuration } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import { withTaskNames } from '../../text/task-name.ts'
import styles from './plan.module.css'
import { outcomeOf, stateOfTask, wordOf } from './task-state.ts'

/** Tasks before one that are named. */
const maxNeeded = 6

interface TaskTableProps {
  tasks: readonly TaskLine[]
  opened: number | undefined
  addressOf(task: number): string
}

/** The tasks of a plan as a table: the same as the picture, for every screen and every reader. */
export function TaskTable({ tasks, opened, addressOf }: TaskTableProps): ReactNode {
  return (
    <div className={styles['wide']}>
      <table className={styles['tasks']}>
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col">State</th>
            <th scope="col">Agent</th>
            <th scope="col">After</th>
            <th scope="col">Time</th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {tasks.map((task) => (
            <tr key={task.id} aria-current={task.id === opened ? 'true' : undefined}>
              <th scope="row">
                <span className="mono quiet">{task.number}</span>{' '}
                <Link href={addressOf(task.id)} {...rowMark}>
                  {withoutBidi(task.title)}
                </Link>{' '}
                <span className="mono quiet small">task:{task.id}</span>
              </th>
              <td>
                <State name={stateOfTask(task)} word={wordOf(task)} />
              </td>
              <td className={styles['agent']}>@{withoutBidi(task.skill)}</td>
              <td className={styles['after']}>
                {task.dependsOn.length === 0 ? (
                  <span className="quiet">–</span>
                ) : (
                  task.dependsOn.slice(0, maxNeeded).map((id) => (
                    <Link key={id} href={addressOf(id)}>
                      {tasks.find((each) => each.id === id)?.number ?? `task:${id}`}
                    </Link>
                  ))
                )}
                {task.dependsOn.length > maxNeeded && (
                  <span className="quiet">and {task.dependsOn.length - maxNeeded} more</span>
                )}
              </td>
              <td className={`mono quiet ${styles['time']}`}>{timeOf(task)}</td>
              <td className={styles['came']}>
                <PlainWords text={withTaskNames(outcomeOf(task), tasks)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Whole seconds are known. */
function timeOf({ seconds }: TaskLine): string {
  if (seconds === undefined) return ''
  return seconds === 0 ? '<1 s' : formatDuration(seconds)
}
