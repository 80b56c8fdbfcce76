import type { ReactNode } from 'react'
import { PlainWords } from '../text/plain-words.tsx'
import { withoutBidi } from '../text/safe-text.ts'
import styles from './call-row.module.css'
import { State, type StateName } from './state.tsx'

interface CallRowProps {
  name: string
  /** Undefined while it runs. */
  status?: string | undefined
  input?: unknown
  output?: unknown
  /** How long it took, or when it began. */
  time?: ReactNode
}

const maxShown = 20_000

/** A tool call on one line; opened, it shows what went in and what came out. */
export function CallRow({ name, status, input, output, time }: CallRowProps): ReactNode {
  const about = aboutOf(input)
  const hasDetails = input !== undefined || output !== undefined
  const line = (
    <>
      <State name={stateOfCall(status)} isBare />
      <span className="mono">{withoutBidi(name)}</span>
      {about !== undefined && <span className={styles['about']}>{withoutBidi(about)}</span>}
      {time !== undefined && <span className={styles['time']}>{time}</span>}
    </>
  )
  if (!hasDetails) return <div className={styles['row']}>{line}</div>
  return (
    <details className={styles['details']}>
      <summary className={styles['row']}>{line}</summary>
      <div className={styles['body']}>
        <Payload title="Input" value={input} />
        <Payload title={status === undefined ? 'No output yet' : 'Output'} value={output} />
      </div>
    </details>
  )
}

function Payload({ title, value }: { title: string; value: unknown }): ReactNode {
  if (value === undefined) return <p className="quiet small">{title}</p>
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return (
    <div>
      <p className="quiet small">{title}</p>
      <div className={styles['payload']}>
        <PlainWords text={text.length > maxShown ? `${text.slice(0, maxShown)}\n…` : text} />
      </div>
    </div>
  )
}

function stateOfCall(status: string | undefined): StateName {
  switch (status) {
    case undefined:
      return 'running'
    case 'ok':
      return 'completed'
    case 'error':
      return 'failed'
    case 'forbidden':
      return 'cancelled'
    default:
      return 'unknown'
  }
}

/** What a call is about, from the field of its input that says most. */
function aboutOf(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null) return undefined
  const fields = new Map(Object.entries(input))
  const agent = fields.get('skill') ?? fields.get('agent')
  const main = ['path', 'command', 'url', 'query', 'pattern', 'task', 'title', 'goal', 'content']
    .map((name) => fields.get(name))
    .find((value) => typeof value === 'string')
  const words = [typeof agent === 'string' ? `@${agent}` : undefined, main].filter((word) => word !== undefined)
  return words.length === 0 ? undefined : words.join(' ').replace(/\s+/g, ' ').slice(0, 160)
}
