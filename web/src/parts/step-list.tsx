import type { ReactNode } from 'react'
import type { RunSteps } from '../api/wire.ts'
import { formatDuration } from '../text/format.ts'
import { PlainWords } from '../text/plain-words.tsx'
import { RichText } from '../text/rich-text.tsx'
import { CallRow } from './call-row.tsx'
import styles from './step-list.module.css'

type Step = RunSteps['steps'][number]

interface StepListProps {
  steps: readonly Step[]
  /** The answer that is shown after the list: it is not repeated in it. */
  answer?: string
}

/** What a run did, in order: words where they were written, calls where they were made. */
export function StepList({ steps, answer }: StepListProps): ReactNode {
  return (
    <div className={styles['steps']}>
      {steps.map((step) => (
        <StepPart key={step.seq} step={step} steps={steps} answer={answer} />
      ))}
    </div>
  )
}

function StepPart({
  step,
  steps,
  answer,
}: {
  step: Step
  steps: readonly Step[]
  answer: string | undefined
}): ReactNode {
  const { kind, text } = step
  if (kind === 'begun') return <CallPart begun={step} ended={endOf(step, steps)} />
  if (text === undefined || text.trim() === '' || text.trim() === answer?.trim()) return null
  if (kind === 'reply') return <RichText text={text} />
  if (kind === 'steer')
    return (
      <div className={styles['steer']}>
        <p className="quiet small">you, while it ran</p>
        <PlainWords text={text} isSerif />
      </div>
    )
  if (kind === 'compact') return <p className="quiet small">Earlier steps were summarised here.</p>
  return null
}

function CallPart({ begun, ended }: { begun: Step; ended: Step | undefined }): ReactNode {
  const seconds = ended?.at && begun.at ? (Date.parse(ended.at) - Date.parse(begun.at)) / 1000 : undefined
  return (
    <CallRow
      name={begun.tool ?? 'tool'}
      status={ended ? (ended.status ?? 'ok') : undefined}
      input={begun.input}
      output={ended?.output}
      time={seconds === undefined ? undefined : formatDuration(seconds)}
    />
  )
}

function endOf(begun: Step, steps: readonly Step[]): Step | undefined {
  return steps.find(({ kind, callId, seq }) => kind === 'ended' && callId === begun.callId && seq > begun.seq)
}
