import { diffWordsWithSpace } from 'diff'
import { type ReactNode, useMemo, useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { Turn } from '../../api/wire.ts'
import { useAddress } from '../../parts/address.ts'
import { Button, buttonLook } from '../../parts/button.tsx'
import { useKeys } from '../../parts/keys.ts'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { Reference } from '../../parts/reference.tsx'
import { countOf, formatTokens, formatUsd } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { RichText } from '../../text/rich-text.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import { type Branch, type Comparison, questionOf, quoteOf, useComparison } from './branch-data.ts'
import styles from './compare.module.css'

/** Two branches side by side from their common turn: questions, answers, tools, files, cost. */
export default function Compare(): ReactNode {
  const { pair = '' } = useAddress()
  const [a = '', b = ''] = pair.split('...')
  const [, navigate] = useLocation()
  const swapped = `/compare/${encodeURIComponent(b)}...${encodeURIComponent(a)}`
  useKeys(useMemo(() => [{ keys: 'x', does: 'Swap the branches', run: () => navigate(swapped) }], [swapped, navigate]))
  const { data, error } = useComparison(a, b)
  const names = data && [withoutBidi(data.a.name), withoutBidi(data.b.name)]
  return (
    <Page
      title={names ? `Compare ${names.join(' and ')}` : 'Compare'}
      heading={
        names ? (
          <>
            {names[0]} <span className="quiet">and</span> {names[1]}
          </>
        ) : undefined
      }
      actions={
        names && (
          <Link href={swapped} className={buttonLook()}>
            Swap
          </Link>
        )
      }
    >
      {(a === '' || b === '') && (
        <EmptyState title="Two branches are needed">
          <p>Mark two turns in a chat, or write /compare/main...second-try into the address.</p>
        </EmptyState>
      )}
      {error ? <Failure error={error} /> : a !== '' && b !== '' && !data && <Loading />}
      {data && <Branches {...data} />}
    </Page>
  )
}

function Branches({ ancestor, a, b }: Comparison): ReactNode {
  const [shown, setShown] = useState<'a' | 'b'>('a')
  return (
    <>
      <p className={styles['parted']}>
        {ancestor ? (
          <>
            Both continue from <Reference to={`turn:${ancestor.id}`} /> {quoteOf(ancestor, maxQuoted)}
          </>
        ) : (
          'They have no turn in common.'
        )}
      </p>
      <Figures a={a} b={b} />
      <div className={styles['tabs']}>
        <Button look={shown === 'a' ? 'main' : 'plain'} onClick={() => setShown('a')}>
          {withoutBidi(a.name)}
        </Button>
        <Button look={shown === 'b' ? 'main' : 'plain'} onClick={() => setShown('b')}>
          {withoutBidi(b.name)}
        </Button>
      </div>
      <div className={styles['branches']}>
        <BranchColumn branch={a} other={b} isShown={shown === 'a'} />
        <BranchColumn branch={b} other={a} isShown={shown === 'b'} />
      </div>
    </>
  )
}

/** Figures of both, one under the other; a row where they differ is marked. */
function Figures({ a, b }: { a: Branch; b: Branch }): ReactNode {
  const rows: [string, (branch: Branch) => string][] = [
    ['turns', ({ turns }) => String(turns.length)],
    ['model', ({ models }) => models.join(', ') || '–'],
    ['tools', ({ tools }) => tools.map(([name, count]) => `${name} ${count}`).join(', ') || '–'],
    ['agents', ({ work }) => work.agents.map(({ agent, runs }) => `@${agent} ${runs}`).join(', ') || '–'],
    ['files', ({ work }) => work.files.map(({ path }) => path).join(', ') || '–'],
    ['tokens', ({ tokens }) => formatTokens(tokens)],
    ['cost', ({ costUsd }) => formatUsd(costUsd)],
  ]
  return (
    <table className={styles['figures']}>
      <thead>
        <tr>
          <th scope="col">
            <span className="visually-hidden">figure</span>
          </th>
          <th scope="col">{withoutBidi(a.name)}</th>
          <th scope="col">{withoutBidi(b.name)}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, figure]) => (
          <tr key={name} className={figure(a) === figure(b) ? undefined : styles['differs']}>
            <th scope="row">{name}</th>
            <td>{withoutBidi(figure(a))}</td>
            <td>{withoutBidi(figure(b))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function BranchColumn({ branch, other, isShown }: { branch: Branch; other: Branch; isShown: boolean }): ReactNode {
  const { name, turns, session, work } = branch
  return (
    <section
      className={isShown ? styles['branch'] : `${styles['branch']} ${styles['behind']}`}
      aria-label={withoutBidi(name)}
    >
      <header className={styles['head']}>
        <h2>{withoutBidi(name)}</h2>
        <span className="quiet small">{countOf(turns.length, 'turn')}</span>
        {session !== undefined && (
          <Link href={`/s/${encodeURIComponent(session)}`} className={buttonLook()}>
            Continue here
          </Link>
        )}
      </header>
      {turns.length === 0 && <p className="quiet">Nothing was said here since.</p>}
      {turns.map((turn, at) => (
        <ComparedTurn key={turn.id} turn={turn} other={other.turns[at]} />
      ))}
      {work.files.map(({ path, undone }) => (
        <p key={path} className="small">
          <Link href={`/why/${encodeURIComponent(path)}`} className="mono">
            {withoutBidi(path)}
          </Link>
          {undone && ' (undone)'}
        </p>
      ))}
    </section>
  )
}

function ComparedTurn({ turn, other }: { turn: Turn; other: Turn | undefined }): ReactNode {
  // Different questions have different answers: marking the words would say nothing.
  const { text, isPersons } = questionOf(turn)
  const isRetry = isPersons && other !== undefined && text === questionOf(other).text
  return (
    <article className={styles['turn']} aria-label={`Turn ${turn.depth}`}>
      <div className={styles['you']}>
        <PlainWords text={text} isSerif={isPersons} />
      </div>
      <div className={styles['answer']}>
        {isRetry && other ? (
          <ChangedWords from={other.response.content} to={turn.response.content} />
        ) : (
          <RichText text={turn.response.content} />
        )}
        <p className="quiet small">
          <Reference to={`turn:${turn.id}`} /> {withoutBidi(turn.toolCalls.map(({ name }) => name).join(', '))}
        </p>
      </div>
    </article>
  )
}

const maxCompared = 20_000
/** Characters of the question that both branches continue from. */
const maxQuoted = 120

/** An answer with what the other one does not say underlined. */
function ChangedWords({ from, to }: { from: string; to: string }): ReactNode {
  const parts = useMemo(
    () => (from.length + to.length > maxCompared ? undefined : diffWordsWithSpace(from, to)),
    [from, to],
  )
  if (parts === undefined) return <RichText text={to} />
  return (
    <p className={styles['words']}>
      {parts.map(({ value, added, removed }, at) => {
        if (removed) return null
        const text = withoutBidi(value)
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name
        return added ? <ins key={at}>{text}</ins> : text
      })}
    </p>
  )
}
