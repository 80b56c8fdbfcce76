import type { ReactNode } from 'react'
import { useRun, useRunSteps } from '../../api/queries.ts'
import type { RunLine, RunSteps } from '../../api/wire.ts'
import { useRunText } from '../../live/use-live.ts'
import { RunState } from '../../parts/state.tsx'
import { StepList } from '../../parts/step-list.tsx'
import { PlainWords } from '../../text/plain-words.tsx'
import { doingOf, previewOf } from '../../text/preview.ts'
import styles from './turn-block.module.css'

/** What a run answers: a person's words, or the report that woke the session. */
export function Asked({ run }: { run: RunLine }): ReactNode {
  const { data } = useRun(run.id)
  if (!data || data.asked === '') return null
  if (data.asked.startsWith('[agent_result:'))
    return (
      <p className={styles['report']}>
        <span className={styles['who']}>reported</span> {previewOf(data.asked).replace(/ reported$/, '')}
      </p>
    )
  return (
    <div className={styles['you']}>
      <p className={styles['who']}>you</p>
      <PlainWords text={data.asked} isSerif />
    </div>
  )
}

/** What a run has done, but for the words that are its answer so far. */
export function StepsSoFar({ runId }: { runId: string }): ReactNode {
  const { data } = useRunSteps(runId)
  const answer = useGrowingAnswer(runId)
  return <StepList steps={data?.steps ?? []} {...(answer !== undefined && { answer })} />
}

export function RunFoot({ run }: { run: RunLine }): ReactNode {
  return (
    <p className={styles['state']}>
      <RunState run={run} /> <span className="quiet small">{doingOf(run.doing)}</span>
    </p>
  )
}

/** The words that a run's model writes, or wrote last; undefined once they stand above the calls that followed them. */
export function useGrowingAnswer(runId: string, isUnderWay = true): string | undefined {
  const text = useRunText(runId)?.text
  const { data } = useRunSteps(runId, { isEnded: !isUnderWay, isWanted: isUnderWay })
  return text === undefined || text === '' ? undefined : newestWords(text, data?.steps ?? [])
}

function newestWords(text: string, steps: RunSteps['steps']): string | undefined {
  const stored = steps.findLast(({ kind, text: reply }) => kind === 'reply' && reply?.startsWith(text.trimEnd()))
  if (!stored) return text
  const isFollowed = steps.some(({ kind, seq }) => kind === 'begun' && seq > stored.seq)
  return isFollowed ? undefined : stored.text
}
