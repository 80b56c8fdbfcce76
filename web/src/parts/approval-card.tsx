import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { post, RequestError } from '../api/request.ts'
import type { Approval, Decision } from '../api/wire.ts'
import { PlainWords } from '../text/plain-words.tsx'
import { withoutBidi } from '../text/safe-text.ts'
import { Ago } from './ago.tsx'
import styles from './approval-card.module.css'
import { Button } from './button.tsx'
import { ChangeView, sizeOfChange } from './change-view.tsx'
import { Fact, Facts } from './facts.tsx'
import { useIsOver } from './notice.tsx'
import { Reference } from './reference.tsx'
import { useSettled } from './settled.ts'
import { State } from './state.tsx'

interface ApprovalCardProps {
  approval: Approval
  /** After an answer was accepted. */
  onAnswered?: () => void
}

/**
 * A call that waits for an answer: who wants what and why, the whole change, and the answers with what each covers. An
 * answer names the hash of what is shown here, so that it counts for nothing else.
 */
export function ApprovalCard({ approval, onAnswered }: ApprovalCardProps): ReactNode {
  const { id, agent, tool, change, facts, reason, sources, trusted, request, requestSession } = approval
  const [isRefusing, setRefusing] = useState(false)
  const answer = useAnswer(approval, onAnswered)
  const isSettled = useSettled(approval.hash)
  const size = sizeOfChange(change)
  return (
    <article className={styles['card']} aria-label={`Approval ${id}`}>
      <header className={styles['head']}>
        <State name="needs-you" word={withoutBidi(`@${agent} asks to ${actOf(tool)}`)} />
        <span className={styles['about']}>
          <Ago at={approval.askedAt} /> · <Reference to={`run:${approval.runId}`} /> ·{' '}
          <Reference to={`approval:${id}`} />
        </span>
      </header>
      {approval.isAskedAgain && <p className={styles['again']}>Asked again: something changed after your answer.</p>}
      {request !== '' && (
        <div className={styles['request']}>
          <span className="quiet small">
            you asked{requestSession === null ? '' : `, in ${withoutBidi(requestSession)}`}
          </span>
          <PlainWords text={request} isSerif />
        </div>
      )}
      <Facts>
        {facts.map(({ name, value }) => (
          <Fact key={name} name={name}>
            <PlainWords text={value} />
          </Fact>
        ))}
        <Fact name="why">
          <PlainWords text={reason} />
        </Fact>
        {sources.length > 0 && (
          <Fact name={trusted ? 'read' : 'read, not trusted'}>
            <span className={trusted ? undefined : styles['warning']}>
              <PlainWords text={sources.join(', ')} />
            </span>
          </Fact>
        )}
      </Facts>
      <ChangeView change={change} />
      <p className="quiet small">All of it is shown{size === undefined ? '' : ` (${size})`}.</p>
      {isRefusing ? (
        <RefusalForm
          onSend={(why) => answer.mutate({ answer: 'no', ...(why !== '' && { reason: why }) })}
          onBack={() => setRefusing(false)}
        />
      ) : (
        <Answers
          approval={approval}
          isBusy={answer.isPending || !isSettled}
          onAnswer={answer.mutate}
          onRefuse={() => setRefusing(true)}
        />
      )}
      {answer.error && <Refused error={answer.error} />}
    </article>
  )
}

const startsPlan = 'run_project'

/** What a call wants to do, for people: only a plan is started by a tool of which they know nothing. */
export function actOf(tool: string): string {
  return tool === startsPlan ? 'start a plan' : `use ${tool}`
}

/** The plan that a yes starts; undefined for any other call. */
export function planStartedBy({ tool, input }: Pick<Approval, 'tool' | 'input'>): number | undefined {
  const id = tool === startsPlan ? (input as { project_id?: unknown } | null)?.project_id : undefined
  return typeof id === 'number' ? id : undefined
}

interface AnswersProps {
  approval: Approval
  isBusy: boolean
  onAnswer(decision: Decision): void
  onRefuse(): void
}

function Answers({ approval, isBusy, onAnswer, onRefuse }: AnswersProps): ReactNode {
  const { scopes, agent, tool } = approval
  const covers = tool === startsPlan ? 'to start this plan' : approval.covers
  const words = {
    once: { label: 'Allow once', covers: 'this call only' },
    session: { label: 'Allow in this session', covers: `${covers}, for every agent of this session` },
    agent: { label: `Allow @${agent} here`, covers: `${covers}, for @${agent} in this folder from now on` },
    tomorrow: { label: 'Continue tomorrow', covers: 'it waits until the next day has a budget' },
  } as const
  return (
    <div className={styles['answers']}>
      {scopes.map((scope, at) => (
        <div key={scope} className={styles['answer']}>
          <Button look={at === 0 ? 'main' : 'plain'} disabled={isBusy} onClick={() => onAnswer({ answer: scope })}>
            {words[scope].label}
          </Button>
          <span className="quiet small">{words[scope].covers}</span>
        </div>
      ))}
      <div className={styles['answer']}>
        <Button disabled={isBusy} onClick={onRefuse}>
          No…
        </Button>
        <span className="quiet small">the agent is told your reason</span>
      </div>
    </div>
  )
}

function RefusalForm({ onSend, onBack }: { onSend(why: string): void; onBack(): void }): ReactNode {
  const [why, setWhy] = useState('')
  return (
    <form
      className={styles['refusal']}
      onSubmit={(event) => {
        event.preventDefault()
        onSend(why.trim())
      }}
    >
      <label>
        Why not? (the agent reads this)
        <input
          value={why}
          onChange={({ target }) => setWhy(target.value)}
          maxLength={1000}
          // biome-ignore lint/a11y/noAutofocus: the form was opened to type here
          autoFocus
        />
      </label>
      <div className="row">
        <Button isSubmit look="danger">
          Do not allow it
        </Button>
        <Button look="quiet" onClick={onBack}>
          Back
        </Button>
      </div>
    </form>
  )
}

function Refused({ error }: { error: Error }): ReactNode {
  if (useIsOver(error)) return null
  const remedy = error instanceof RequestError ? error.remedy : ''
  return (
    <p role="alert" className={styles['warning']}>
      Nothing was sent on. {withoutBidi(error.message)}. {withoutBidi(remedy)}
    </p>
  )
}

function useAnswer({ id, hash }: Approval, onAnswered?: () => void) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (decision: Decision) => post(`/v1/approvals/${id}`, { ...decision, hash }),
    onSuccess: () => {
      // The list and the run show it at once; the stream confirms it.
      queries.setQueryData<Approval[]>(['approvals'], (all) => all?.filter((each) => each.id !== id))
      onAnswered?.()
    },
    // What is shown may be out of date: read it again before the next answer.
    onError: () => void queries.invalidateQueries({ queryKey: ['approvals'] }),
  })
}
