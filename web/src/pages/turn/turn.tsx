import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, Redirect } from 'wouter'
import { useFolder } from '../../api/folder.ts'
import { turnQuery, useRunSteps } from '../../api/queries.ts'
import type { Turn } from '../../api/wire.ts'
import { useAddress } from '../../parts/address.ts'
import { buttonLook } from '../../parts/button.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { Failure, Loading } from '../../parts/notice.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Reference } from '../../parts/reference.tsx'
import { State, stateOf } from '../../parts/state.tsx'
import { StepList } from '../../parts/step-list.tsx'
import { formatCost, formatCount, formatTime, shortId } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { RichText } from '../../text/rich-text.tsx'
import styles from './turn.module.css'

/** One turn with everything: what was said and done, what the model was given, what it cost. */
export default function TurnPage(): ReactNode {
  const folder = useFolder()
  const { id = '' } = useAddress()
  const turn = useQuery(turnQuery(folder, id))
  if (!turn.data) return <Page title={`turn:${id}`}>{turn.error ? <Failure error={turn.error} /> : <Loading />}</Page>
  // The end of an id is enough to find a turn; its page has the whole one.
  if (turn.data.id !== id) return <Redirect to={`/t/${turn.data.id}`} replace />
  return <WholeTurn turn={turn.data} />
}

function WholeTurn({ turn }: { turn: Turn }): ReactNode {
  const { data } = useRunSteps(turn.runId, { isEnded: true })
  const [session] = turn.sessions
  return (
    <Page
      title={`turn:${shortId(turn.id)}`}
      heading={<span className="mono">turn:{shortId(turn.id)}</span>}
      facts={
        <>
          <State name={stateOf(turn.status)} />
          <span>{formatTime(turn.timestamp)}</span>
        </>
      }
      actions={
        <>
          <Link href={`/why/turn:${turn.id}`} className={buttonLook()}>
            Why
          </Link>
          {session !== undefined && (
            <Link href={`/s/${encodeURIComponent(session)}/${turn.id}`} className={buttonLook()}>
              In {session}
            </Link>
          )}
        </>
      }
      width="reading"
    >
      <TurnFacts turn={turn} />
      <Section title="Said">
        {turn.query.map(({ id, content, source = 'human' }) => (
          <div key={id} className={styles['said']}>
            <PlainWords text={content} isSerif={source === 'human'} />
          </div>
        ))}
      </Section>
      {data && data.steps.length > 0 && (
        <Section title="Done">
          <StepList steps={data.steps} answer={turn.response.content} />
        </Section>
      )}
      <Section title="Answered">
        <RichText text={turn.response.content} />
      </Section>
      {turn.thread.systemPrompt !== null && (
        <Section title="What the model was given">
          <details>
            <summary>System prompt, {formatCount(turn.thread.systemPrompt.length)} characters</summary>
            <div className={styles['prompt']}>
              <PlainWords text={turn.thread.systemPrompt} />
            </div>
          </details>
          <Recalled turn={turn} />
        </Section>
      )}
    </Page>
  )
}

function TurnFacts({ turn }: { turn: Turn }): ReactNode {
  const { requested, actual, clamped } = turn.model
  const facts: [string, ReactNode][] = [
    ['run', <Reference key="run" to={`run:${turn.runId}`} />],
    ['before it', turn.parentId === null ? 'nothing' : <Reference key="parent" to={`turn:${turn.parentId}`} />],
    ['model', `asked for ${requested ?? 'the default'}, got ${actual ?? 'none'}${clamped ? `: ${clamped.why}` : ''}`],
    ['tokens', `${formatCount(turn.usage.inputTokens)} in, ${formatCount(turn.usage.outputTokens)} out`],
    ['cost', formatCost(turn.usage)],
    ['trust', turn.label.integrity === 'trusted' ? 'trusted' : `not trusted: ${turn.label.sources.join(', ')}`],
  ]
  return (
    <div className={styles['facts']}>
      <Facts>
        {facts.map(([name, value]) => (
          <Fact key={name} name={name}>
            {value}
          </Fact>
        ))}
      </Facts>
    </div>
  )
}

function Recalled({ turn: { remindedOf, beganWith } }: { turn: Turn }): ReactNode {
  if (remindedOf.length === 0 && beganWith === null) return null
  return (
    <ul className="stack">
      {remindedOf.map(({ id, content }) => (
        <li key={id}>
          <Reference to={`memory:${id}`} /> <PlainWords text={content} />
        </li>
      ))}
      {beganWith && (
        <li>
          <Reference to={`narrative:${beganWith.id}`} /> <PlainWords text={beganWith.summary} />
        </li>
      )}
    </ul>
  )
}
