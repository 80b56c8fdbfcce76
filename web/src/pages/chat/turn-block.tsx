import { memo, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { useRunSteps } from '../../api/queries.ts'
import type { PathTurn, RunLine } from '../../api/wire.ts'
import { CallRow } from '../../parts/call-row.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Reference } from '../../parts/reference.tsx'
import { State, stateOf } from '../../parts/state.tsx'
import { StepList } from '../../parts/step-list.tsx'
import { formatCost, formatTime, formatTokens } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { previewOf } from '../../text/preview.ts'
import { RichText } from '../../text/rich-text.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import { Asked, RunFoot, StepsSoFar, useGrowingAnswer } from './answer-under-way.tsx'
import styles from './turn-block.module.css'

/** What can be done with a turn. */
interface TurnActions {
  onFork(turn: PathTurn): void
  onMark(turn: PathTurn): void
  onCopyLink(turn: PathTurn): void
  onWhy(turn: PathTurn): void
  onShow(turn: PathTurn): void
}

interface TurnBlockProps extends TurnActions {
  /** Undefined while its answer is being written. */
  turn: PathTurn | undefined
  /** The run whose answer is being written; undefined for a turn. */
  run: RunLine | undefined
  isShown?: boolean
  isMarked?: boolean
}

/**
 * A turn: what was said, what was done, and the answer. The answer has its place here while it is being written: when it
 * becomes the turn, nothing of it is drawn anew and what is selected in it stays selected.
 */
export const TurnBlock = memo(function TurnBlock({ turn, run, isShown, isMarked = false, ...actions }: TurnBlockProps) {
  const name = isMarked ? `${styles['turn']} ${styles['marked']}` : styles['turn']
  const agent = turn ? (turn.agent === null ? 'answer' : `@${turn.agent}`) : `@${run?.agent ?? 'coordinator'}`
  return (
    <article
      id={turn && `turn-${turn.id}`}
      className={isShown ? `${name} ${styles['shown']}` : name}
      aria-label={turn ? `Turn ${turn.depth}` : 'Answer under way'}
      aria-busy={turn === undefined}
      tabIndex={-1}
    >
      {turn && <Inputs messages={turn.query} />}
      {run && <Asked run={run} />}
      <div className={styles['answer']}>
        <p className={styles['who']}>{agent}</p>
        {turn && turn.toolCalls.length > 0 && <Done turn={turn} />}
        {run && <StepsSoFar runId={run.id} />}
        <Answer key="answer" runId={turn?.runId ?? run?.id ?? ''} content={turn?.response.content} />
        {turn && <TurnFoot turn={turn} isMarked={isMarked} {...actions} />}
        {run && <RunFoot run={run} />}
        {turn?.stopped && <Stopped {...turn.stopped} />}
      </div>
    </article>
  )
})

/** The answer: of a turn, or what has been written of it. */
function Answer({ runId, content }: { runId: string; content: string | undefined }): ReactNode {
  const growing = useGrowingAnswer(runId, content === undefined)
  const text = content ?? growing
  return <div aria-live="off">{text !== undefined && <RichText text={text} isGrowing={content === undefined} />}</div>
}

/** What was done for the answer. The words between the calls are read when they come into view. */
function Done({ turn }: { turn: PathTurn }): ReactNode {
  const place = useRef<HTMLDivElement>(null)
  const isSeen = useIsSeen(place)
  const { data } = useRunSteps(turn.runId, { isEnded: true, isWanted: isSeen })
  return (
    <div ref={place} className={styles['calls']}>
      {data && data.steps.length > 0 ? (
        <StepList steps={data.steps} answer={turn.response.content} />
      ) : (
        turn.toolCalls.map(({ id, ...call }) => <CallRow key={id} {...call} />)
      )}
    </div>
  )
}

/** Whether an element has come into view. */
function useIsSeen(place: RefObject<Element | null>): boolean {
  const [isSeen, setSeen] = useState(false)
  useEffect(() => {
    const element = place.current
    if (!element || isSeen) return undefined
    const watch = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true)
    })
    watch.observe(element)
    return () => watch.disconnect()
  }, [place, isSeen])
  return isSeen
}

type Message = PathTurn['query'][number]

/** What a turn answers: a person's words in serif; what agents reported folded into one line. */
function Inputs({ messages }: { messages: Message[] }): ReactNode {
  const said = messages.filter(({ source = 'human' }) => source === 'human')
  const reported = messages.filter((message) => !said.includes(message))
  return (
    <>
      {reported.length > 0 && (
        <details className={styles['report']}>
          <summary>
            <span className={styles['who']}>reported</span> {summaryOf(reported)}
          </summary>
          {reported.map(({ id, content }) => (
            <PlainWords key={id} text={content} />
          ))}
        </details>
      )}
      {said.map(({ id, content, timestamp }) => (
        <div key={id} className={styles['you']}>
          <p className={styles['who']}>
            you <time dateTime={new Date(timestamp).toISOString()}>{formatTime(timestamp)}</time>
          </p>
          <PlainWords text={content} isSerif />
        </div>
      ))}
    </>
  )
}

/** Who reported; the note that all have ended says no more than that. */
function summaryOf(reported: Message[]): string {
  const reports = reported.filter(({ content }) => content.startsWith('[agent_result:'))
  return (reports.length > 0 ? reports : reported).map(({ content }) => previewOf(content)).join(' · ')
}

/** Agents that are named of those that did not finish. */
const maxNamed = 5

/** The turn's request was stopped while only agents worked for it: who did, and what is left undone. */
function Stopped({ reason, unfinished }: NonNullable<PathTurn['stopped']>): ReactNode {
  const words = /^(stopped|cancelled)\b/.test(reason) ? reason : `stopped: ${reason}`
  const more = unfinished.length - maxNamed
  return (
    <p className={styles['stopped']} role="note" aria-label="Stopped">
      <State name="cancelled" word={withoutBidi(words)} />
      {unfinished.length === 0 && <span>· what its agents reported was not read</span>}
      {unfinished.length > 0 && <span>· not finished:</span>}
      {unfinished.slice(0, maxNamed).map(({ runId, agent }) => (
        <span key={runId}>
          @{agent ?? 'agent'} <Reference to={`run:${runId}`} />
        </span>
      ))}
      {more > 0 && <span>and {more} more</span>}
    </p>
  )
}

function TurnFoot({ turn, isMarked, ...actions }: { turn: PathTurn; isMarked: boolean } & TurnActions): ReactNode {
  const { requested, actual, clamped } = turn.model
  const isOther = requested !== null && actual !== null && requested !== actual
  return (
    <footer className={styles['foot']}>
      {turn.status !== 'completed' && <State name={stateOf(turn.status)} />}
      {turn.compaction !== null && <span>summary of earlier turns</span>}
      <span className="mono">
        {withoutBidi(actual ?? requested ?? 'written by hand')}
        {isOther && withoutBidi(` (asked for ${requested}${clamped ? `: ${clamped.why}` : ''})`)}
      </span>
      <span className="mono">{formatTokens(turn.usage.inputTokens + turn.usage.outputTokens)} tokens</span>
      <span className="mono">{formatCost(turn.usage)}</span>
      <Reference to={`run:${turn.runId}`} />
      <span className={styles['menu']}>
        <Menu
          label={`What to do with turn ${turn.depth}`}
          items={[
            { label: 'Fork from here', keyName: 'f', onSelect: () => actions.onFork(turn) },
            {
              label: isMarked ? 'Remove the mark' : 'Mark to compare',
              keyName: 'm',
              onSelect: () => actions.onMark(turn),
            },
            { label: 'Why this answer', keyName: 'w', onSelect: () => actions.onWhy(turn) },
            { label: 'Copy the link', keyName: 'y', onSelect: () => actions.onCopyLink(turn) },
            { label: 'Show all of it', onSelect: () => actions.onShow(turn) },
          ]}
        />
      </span>
    </footer>
  )
}
