import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useFolder } from '../../api/folder.ts'
import { useMe } from '../../api/me.ts'
import { get } from '../../api/request.ts'
import type { HealthCheck, Settings } from '../../api/wire.ts'
import { Ago } from '../../parts/ago.tsx'
import { Button } from '../../parts/button.tsx'
import { CopyText } from '../../parts/copy-text.tsx'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { State, type StateName } from '../../parts/state.tsx'
import { countOf, shortPath } from '../../text/format.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './doctor.module.css'

/** What is wrong with the installation and what helps, and all settings with where each comes from. */
export default function Doctor(): ReactNode {
  const folder = useFolder()
  const { version, since } = useMe()
  // A check may ask a model of this machine for a word: it runs when the page is opened, and when it is asked for.
  const doctor = useQuery({
    queryKey: ['doctor', folder],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => get<{ checks: HealthCheck[] }>('/v1/doctor', { folder }, signal),
  })
  const checks = doctor.data?.checks ?? []
  const wrong = checks.filter(({ status }) => status !== 'ok')
  return (
    <Page
      title="Doctor"
      facts={
        <span>
          heddle {withoutBidi(version)}, started <Ago at={since} />
        </span>
      }
      actions={
        <Button disabled={doctor.isFetching} onClick={() => void doctor.refetch()}>
          Check again
        </Button>
      }
    >
      <Section
        title="Checks"
        more={doctor.data && (wrong.length === 0 ? 'nothing is wrong' : countOf(wrong.length, 'finding'))}
      >
        {doctor.isPending && <Loading />}
        {doctor.error && <Failure error={doctor.error} onRetry={() => void doctor.refetch()} />}
        <ul>
          {[...wrong, ...checks.filter(({ status }) => status === 'ok')].map((check, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a check can have several findings of one name
            <Check key={at} check={check} />
          ))}
        </ul>
      </Section>
      <EffectiveSettings isFirstLoad={doctor.isPending} />
    </Page>
  )
}

const states: Record<HealthCheck['status'], { name: StateName; word: string }> = {
  ok: { name: 'completed', word: 'ok' },
  warn: { name: 'waiting', word: 'warning' },
  fail: { name: 'failed', word: 'broken' },
}

function Check({ check: { name, status, detail, remedy } }: { check: HealthCheck }): ReactNode {
  return (
    <li className={styles['check']}>
      <State {...states[status]} />
      <strong>{withoutBidi(name)}</strong>
      <div className={styles['detail']}>
        <p>{withoutBidi(detail)}</p>
        {remedy !== undefined && <CopyText text={remedy} />}
      </div>
    </li>
  )
}

/** All settings; while the page loads for the first time, the checks say so. */
function EffectiveSettings({ isFirstLoad }: { isFirstLoad: boolean }): ReactNode {
  const [words, setWords] = useState('')
  const [isOnlySet, setOnlySet] = useState(false)
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['settings'],
    queryFn: ({ signal }) => get<Settings>('/v1/settings', {}, signal),
  })
  const shown = (data?.settings ?? []).filter(
    ({ key, line }) => key.toLowerCase().includes(words.trim().toLowerCase()) && (!isOnlySet || line !== null),
  )
  const file = shortPath(data?.file ?? 'heddle.yaml')
  const name = file.split('/').at(-1) ?? file
  return (
    <Section title="Settings" more={data && <span className="mono">{withoutBidi(file)}</span>}>
      <p className="small quiet">
        As they were when Heddle started. Change one with <code>heddle config set KEY VALUE</code>, then restart{' '}
        <code>heddle up</code>.
      </p>
      {isPending && !isFirstLoad && <Loading />}
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data && (
        <div className={styles['filter']}>
          <label className="field">
            Find a setting
            <input type="search" value={words} onChange={(event) => setWords(event.target.value)} />
          </label>
          <label className={styles['only']}>
            <input type="checkbox" checked={isOnlySet} onChange={(event) => setOnlySet(event.target.checked)} /> only
            what {name} sets
          </label>
        </div>
      )}
      {data && shown.length === 0 && (
        <EmptyState title="No such setting">
          <p>{isOnlySet ? `${name} sets nothing of that name: the default counts.` : 'Every setting has a default.'}</p>
        </EmptyState>
      )}
      {shown.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: wide tables scroll, also by keyboard
        <section className={styles['wide']} tabIndex={0} aria-label="All settings">
          <table className={styles['table']}>
            <thead>
              <tr>
                <th scope="col">setting</th>
                <th scope="col">value</th>
                <th scope="col">from</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(({ key, value, line }) => (
                <tr key={key}>
                  <th scope="row">{withoutBidi(key)}</th>
                  <td className={value === null ? 'quiet' : undefined}>{valueText(value)}</td>
                  <td className={line === null ? 'quiet' : undefined}>
                    {line === null ? 'default' : `${withoutBidi(name)}, line ${line}`}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Section>
  )
}

function valueText(value: unknown): string {
  if (value === null) return 'not set'
  return withoutBidi(typeof value === 'string' ? value : JSON.stringify(value))
}
