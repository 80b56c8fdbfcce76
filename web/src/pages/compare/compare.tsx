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
import { countOf, formatTokens, formatUsd, shortId } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { previewOf } from '../../text/preview.ts'
import { RichText } from '../../text/rich-text.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import { type Branch, useComparison } from './branch-data.ts'
import styles from './compare.module.css'

/** Two branches side by side from their common turn: questions, answers, tools, files, cost. */
export default function Compare(): ReactNode {
  const { pair = '' } = useAddress()
  const [a = '', b = ''] = pair.split('...')
  const [, navigate] = useLocation()
  const swapped = `/compare/${encodeURIComponent(b)}...${encodeURIComponent(a)}`
  useKeys(useMemo(() => [{ keys: 'x', does: 'Swap the branches', run: () => navigate(swapped) }], [swapped, navigate]))
  const isNamed = a !== '' && b !== ''
  return (
    <Page
      title={`${nameOf(a)} and ${nameOf(b)}`}
      heading={
        <>
          {nameOf(a)} <span className="quiet">and</span> {nameOf(b)}
        </>
      }
      actions={
        <Link href={swapped} className={buttonLook()}>
          Swap
        </Link>
      }
    >
      {isNamed ? (
        <Branches a={a} b={b} />
      ) : (
        <EmptyState title="Two branches are needed">
          <p>Mark two turns in a chat, or write /compare/main...second-try into the address.</p>
        </EmptyState>
      )}
    </Page>
  )
}

/** Of a turn its short id. */
function nameOf(name: string): string {
  return /^[0-9a-z]{20}$/.test(name) ? `turn:${shortId(name)}` : withoutBidi(name)
}

function Branches({ a: nameA, b: nameB }: { a: string; b: string }): ReactNode {
  const { ancestor, a, b, isLoading, error } = useComparison(nameA, nameB)
  const [shown, setShown] = useState<'a' | 'b'>('a')
  if (error) return <Failure error={error} />
  if (isLoading) return <Loading />
  return (
    <>
      <p className={styles['parted']}>
        {ancestor ? (
          <>
            Both go on from <Reference to={`turn:${ancestor.id}`} /> “{questionOf(ancestor).text.slice(0, 120)}”
          </>
        ) : (
          'They have no turn in common.'
        )}
      </p>
      <Figures a={a} b={b} />
      <div className={styles['tabs']}>
        <Button look={shown === 'a' ? 'main' : 'plain'} onClick={() => setShown('a')}>
          {nameOf(a.name)}
        </Button>
        <Button look={shown === 'b' ? 'main' : 'plain'} onClick={() => setShown('b')}>
          {nameOf(b.name)}
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
    ['files', ({ files }) => files.map(({ path }) => path).join(', ') || '–'],
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
          <th scope="col">{nameOf(a.name)}</th>
          <th scope="col">{nameOf(b.name)}</th>
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
  const { name, turns, session, files } = branch
  return (
    <section
      className={isShown ? styles['branch'] : `${styles['branch']} ${styles['behind']}`}
      aria-label={nameOf(name)}
    >
      <header className={styles['head']}>
        <h2>{nameOf(name)}</h2>
        <span className="quiet small">{countOf(turns.length, 'turn')}</span>
        {session !== undefined && (
          <Link href={`/s/${encodeURIComponent(session)}`} className={buttonLook()}>
            Go on here
          </Link>
        )}
      </header>
      {turns.length === 0 && <p className="quiet">Nothing was said here since.</p>}
      {turns.map((turn, at) => (
        <ComparedTurn key={turn.id} turn={turn} other={other.turns[at]} />
      ))}
      {files.map(({ path, undone }) => (
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

/** What a turn answers: what a person said or, in a turn that nobody asked for, what agents reported. */
function questionOf({ query }: Turn): { text: string; isPersons: boolean } {
  const said = query.filter(({ source = 'human' }) => source === 'human')
  if (said.length > 0) return { text: withoutBidi(said.map(({ content }) => content).join('\n\n')), isPersons: true }
  const reports = query.filter(({ content }) => content.startsWith('[agent_result:'))
  const told = reports.length > 0 ? reports : query
  return { text: told.map(({ content }) => previewOf(content)).join(' · '), isPersons: false }
}
