import { type ReactNode, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useFolder } from '../../api/folder.ts'
import { useMe } from '../../api/me.ts'
import { useStatus } from '../../api/queries.ts'
import { newKey, post } from '../../api/request.ts'
import { Button } from '../../parts/button.tsx'
import { Failure } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { formatUsd } from '../../text/format.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './welcome.module.css'

const examples = [
  { text: 'survey and report per part', does: 'makes a plan, starts agents, asks before it writes REPORT.md' },
  { text: 'survey this folder', does: 'one agent counts what is here' },
  { text: 'what can you do?', does: 'a list of what works without a model' },
]

/** The first page after the one-time link: where Heddle lives, who answers, what it may spend, and a first job. */
export default function Welcome(): ReactNode {
  const folder = useFolder()
  const { model, home } = useMe()
  const { data: status } = useStatus()
  const [, navigate] = useLocation()
  const [error, setError] = useState<unknown>()
  const session = status?.session ?? 'main'
  const start = async (content: string) => {
    try {
      await post('/v1/inputs', { folder, session, content, attended: true, dedupeKey: newKey() })
      navigate(`/s/${encodeURIComponent(session)}`)
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <Page title="Welcome" heading="You are signed in" width="reading">
      <ul className={styles['facts']}>
        <li>
          Heddle works in <code>{withoutBidi(folder)}</code>
          {home !== null && (
            <>
              {' '}
              and keeps its records in <code>{withoutBidi(home)}</code>
            </>
          )}
          . Nothing leaves this machine but what is sent to a model.
        </li>
        <li>
          {model === null || model.isRehearsal ? (
            <>
              <strong>Rehearsal:</strong> a script answers, with real tools and real files. Add a model with{' '}
              <code>heddle models add</code>.
            </>
          ) : (
            <>
              <strong>{model.name}</strong> answers{model.isReady ? '' : ', once it has a key: heddle doctor says more'}
              .
            </>
          )}
        </li>
        <li>
          {status?.dayLimitUsd == null
            ? 'There is no limit of what it may spend.'
            : `It may spend ${formatUsd(status.dayLimitUsd)} a day; then it stops and asks.`}
        </li>
      </ul>
      <h2 className={styles['heading']}>Give it something to do</h2>
      <ul className={styles['examples']}>
        {examples.map(({ text, does }) => (
          <li key={text}>
            <Button onClick={() => void start(text)}>{text}</Button>
            <span className="quiet small">{does}</span>
          </li>
        ))}
      </ul>
      {error !== undefined && <Failure error={error} />}
      <p className={styles['more']}>
        Or <Link href={`/s/${encodeURIComponent(session)}`}>write something of your own</Link>, or look at the{' '}
        <Link href="/">overview</Link>.
      </p>
    </Page>
  )
}
