import type { ReactNode } from 'react'
import type { Skills } from '../api/wire.ts'
import { shortPath } from '../text/format.ts'
import { withoutBidi } from '../text/safe-text.ts'
import styles from './agent-findings.module.css'
import { CopyText } from './copy-text.tsx'
import { State, type StateName } from './state.tsx'

type Finding = Skills['diagnostics'][number]
type AgentFile = Skills['skills'][number]

const levels: Record<Finding['level'], { name: StateName; word: string }> = {
  error: { name: 'failed', word: 'error' },
  warning: { name: 'waiting', word: 'warning' },
  note: { name: 'queued', word: 'note' },
}

/** Problems that were found when agent files were read, each with its place and what helps. */
export function AgentFindings({ findings }: { findings: readonly Finding[] }): ReactNode {
  return (
    <ul className={styles['findings']}>
      {findings.map(({ level, message, path, line, remedy }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: findings of one list have no other name
        <li key={at} className={styles['finding']}>
          <State {...levels[level]} />
          <div>
            <p>{withoutBidi(message)}</p>
            <p className="mono quiet">
              {withoutBidi(shortPath(path))}
              {line !== undefined && `:${line}`}
            </p>
            {remedy !== undefined && <CopyText text={remedy} />}
          </div>
        </li>
      ))}
    </ul>
  )
}

/** Whether an agent file can be used, in a word. */
export function stateOfFile({ status, shadowedBy }: Pick<AgentFile, 'status' | 'shadowedBy'>): {
  name: StateName
  word: string
} {
  if (shadowedBy !== undefined) return { name: 'cancelled', word: 'not used' }
  switch (status) {
    case 'ready':
      return { name: 'completed', word: 'ready' }
    case 'degraded':
      return { name: 'waiting', word: 'has less than it asks for' }
    case 'untrusted':
      return { name: 'queued', word: 'not trusted yet' }
    case 'broken':
      return { name: 'failed', word: 'broken' }
  }
}

/** Where an agent file was found, in words. */
export function sourceWords(source: AgentFile['source']): string {
  return { folder: 'in this folder', home: 'in your home', config: 'in a folder of skills:', 'built-in': 'built in' }[
    source
  ]
}
