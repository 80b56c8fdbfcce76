import type { ReactNode } from 'react'
import type { CommandOutcome } from '../../api/wire.ts'
import { Button } from '../../parts/button.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { formatTime } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import styles from './command-outcome.module.css'

interface ShownOutcome {
  line: string
  outcome: CommandOutcome
}

/** What a command showed. It is part of no turn, and only this tab has it. */
export function CommandResult({
  shown: { line, outcome },
  onClose,
}: {
  shown: ShownOutcome
  onClose(): void
}): ReactNode {
  return (
    <section className={styles['outcome']} aria-label={`Result of ${line}`} aria-live="polite">
      <header>
        <code>{line}</code>
        <Button look="quiet" onClick={onClose}>
          Close
        </Button>
      </header>
      {outcome.blocks.map((block, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an outcome never changes
        <OutcomePart key={at} block={block} />
      ))}
      {outcome.next !== undefined && <p className="quiet small">Next: {outcome.next}</p>}
    </section>
  )
}

function OutcomePart({ block }: { block: CommandOutcome['blocks'][number] }): ReactNode {
  switch (block.kind) {
    case 'text':
      return <PlainWords text={block.text} />
    case 'quote':
      return (
        <blockquote className={styles['quote']}>
          <PlainWords text={block.text} />
        </blockquote>
      )
    case 'facts':
      return (
        <Facts>
          {block.facts.map(({ name, value }) => (
            <Fact key={name} name={name}>
              <Cell value={value} />
            </Fact>
          ))}
        </Facts>
      )
    case 'table':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: wide tables scroll, also by keyboard
        <section className={styles['wide']} tabIndex={0} aria-label="Table">
          <table>
            <thead>
              <tr>
                {block.columns.map((column) => (
                  <th key={column} scope="col">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: an outcome never changes
                <tr key={at}>
                  {row.map((value, column) => (
                    <td key={block.columns[column]}>
                      <Cell value={value} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )
  }
}

/** Times come as ISO 8601. */
function Cell({ value }: { value: string | number | null }): ReactNode {
  if (value === null) return '–'
  if (typeof value === 'number') return value
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(value)
  return isTime ? formatTime(value) : <PlainWords text={value} />
}
