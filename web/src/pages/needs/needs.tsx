import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useFolder } from '../../api/folder.ts'
import { useApprovals, useWaitingPlans } from '../../api/queries.ts'
import { get, post } from '../../api/request.ts'
import type { Approval, Grant } from '../../api/wire.ts'
import { useAddress } from '../../parts/address.ts'
import { Ago } from '../../parts/ago.tsx'
import { ApprovalCard, planStartedBy } from '../../parts/approval-card.tsx'
import { Button } from '../../parts/button.tsx'
import { ChangeView } from '../../parts/change-view.tsx'
import { useKeys } from '../../parts/keys.ts'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Reference } from '../../parts/reference.tsx'
import { rowMark, useRowKeys } from '../../parts/row-keys.ts'
import { State } from '../../parts/state.tsx'
import { WaitingPlan } from '../../parts/waiting-plan.tsx'
import { shortPath } from '../../text/format.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './needs.module.css'

/** Everything that waits for an answer, the oldest first, each whole; below, what was allowed for longer. */
export default function Needs(): ReactNode {
  const { id } = useAddress()
  const approvals = useApprovals()
  const list = useRef<HTMLUListElement>(null)
  useRowKeys()
  useAnswerKeys(list)
  const plans = useWaitingPlans()
  const open = approvals.data ?? []
  const stopped = plans.data ?? []
  const count = open.length + stopped.length
  const isGone = id !== undefined && approvals.data !== undefined && !open.some((each) => String(each.id) === id)
  return (
    <Page title="Needs you" facts={count > 0 && <span>{count} to answer</span>} width="reading">
      {approvals.isPending && <Loading />}
      {approvals.error && <Failure error={approvals.error} onRetry={() => approvals.refetch()} />}
      {isGone && <AnsweredApproval id={id} />}
      {approvals.data && plans.data && count === 0 && <NothingNeeded />}
      <ul ref={list} className={styles['list']}>
        {open.map((approval) => (
          <Pending key={approval.id} approval={approval} isNamed={String(approval.id) === id} />
        ))}
      </ul>
      {stopped.length > 0 && (
        <ul className={styles['list']}>
          {stopped.map((plan) => (
            <li key={plan.id} {...rowMark} tabIndex={-1} className={styles['item']}>
              <WaitingPlan plan={plan} />
            </li>
          ))}
        </ul>
      )}
      <Grants />
    </Page>
  )
}

/** The number keys press the answers of the card with the focus, or of the first one. */
function useAnswerKeys(list: { current: HTMLUListElement | null }): void {
  const bound = useMemo(
    () =>
      [1, 2, 3, 4].map((number) => ({
        keys: String(number),
        does: `Give answer ${number} to the call with the focus`,
        run: () => {
          const cards = [...(list.current?.children ?? [])]
          const card = cards.find((each) => each.contains(document.activeElement)) ?? cards[0]
          const buttons = [
            ...(card?.querySelectorAll<HTMLButtonElement>(':not([inert]) > article button:not(:disabled)') ?? []),
          ]
          buttons[number - 1]?.click()
        },
      })),
    [list],
  )
  useKeys(bound)
}

/**
 * A call that waits. What was shown stays on the screen: if it changes meanwhile, an answer would count for something that
 * the reader has not seen, so the card is closed until the reader has seen the new one.
 */
function Pending({ approval, isNamed }: { approval: Approval; isNamed: boolean }): ReactNode {
  const [shown, setShown] = useState(approval)
  const item = useRef<HTMLLIElement>(null)
  const isOutdated = shown.hash !== approval.hash
  useEffect(() => {
    if (!isNamed) return
    item.current?.scrollIntoView({ block: 'start' })
    item.current?.focus()
  }, [isNamed])
  const focusNext = () => {
    const next = item.current?.nextElementSibling ?? item.current?.previousElementSibling
    if (next instanceof HTMLElement) next.focus()
  }
  return (
    <li ref={item} className={styles['item']} tabIndex={-1} {...rowMark}>
      {isOutdated && (
        <div role="alert" className={styles['outdated']}>
          <p>
            <strong>This is no longer what you saw.</strong> The call below has changed; nothing was answered.
          </p>
          <Button onClick={() => setShown(approval)}>Show what it is now</Button>
        </div>
      )}
      <div inert={isOutdated}>
        <ApprovalCard approval={isOutdated ? shown : approval} onAnswered={focusNext} />
        <PlanLink approval={approval} />
      </div>
    </li>
  )
}

/** A plan is asked for by its tasks; their briefs stand on its page, and the answer is bound to them as well. */
function PlanLink({ approval }: { approval: Approval }): ReactNode {
  const id = planStartedBy(approval)
  if (id === undefined) return null
  return (
    <p className={styles['plan']}>
      The brief of each task: <Reference to={`plan:${id}`} />
    </p>
  )
}

/** An approval that the address names and that no longer waits. */
function AnsweredApproval({ id }: { id: string }): ReactNode {
  const folder = useFolder()
  const { data, error } = useQuery({
    queryKey: ['approval', id],
    queryFn: ({ signal }) => get<Approval>('/v1/show', { folder, reference: `approval:${id}` }, signal),
  })
  if (error) return <Failure error={error} />
  if (!data) return <Loading />
  const isRefused = data.answer === 'no'
  return (
    <article className={styles['answered']} aria-label={`Approval ${id}`}>
      <p className="row">
        <State
          name={data.answer === undefined ? 'unknown' : isRefused ? 'cancelled' : 'completed'}
          word={data.answer === undefined ? 'no longer asked' : isRefused ? 'not allowed' : `allowed: ${data.answer}`}
        />
        <span>
          @{data.agent} {withoutBidi(data.tool)}
        </span>
        <Reference to={`run:${data.runId}`} /> <span className="mono quiet">approval:{id}</span>
      </p>
      {data.answerReason !== undefined && <p className="small">{withoutBidi(data.answerReason)}</p>}
      <ChangeView change={data.change} />
    </article>
  )
}

function NothingNeeded(): ReactNode {
  return (
    <EmptyState title="Nothing needs you">
      <p>
        Agents ask here before they write a file, run a command or start a plan, and when a budget is used up. Plans
        wait here when a task has failed. You see the whole change, and an answer counts for exactly what is shown.
      </p>
      <p>
        Try it: <Link href="/s/main">write</Link> “write NOTES.md: buy milk”.
      </p>
    </EmptyState>
  )
}

function Grants(): ReactNode {
  const { data } = useQuery({
    queryKey: ['grants'],
    queryFn: ({ signal }) => get<{ grants: Grant[] }>('/v1/grants', {}, signal),
  })
  if (!data || data.grants.length === 0) return null
  return (
    <Section title="Allowed until you take it back">
      <ul>
        {data.grants.map((grant) => (
          <GrantLine key={grant.id} grant={grant} />
        ))}
      </ul>
    </Section>
  )
}

function GrantLine({ grant }: { grant: Grant }): ReactNode {
  const queries = useQueryClient()
  const revoke = useMutation({
    mutationFn: () => post(`/v1/grants/${grant.id}/revoke`),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['grants'] }),
  })
  const who = grant.scope === 'agent' ? `@${grant.agent}` : `every agent of ${grant.session ?? 'the session'}`
  return (
    <li className={styles['grant']}>
      <span>
        {withoutBidi(who)}: <span>{withoutBidi(grant.covers)}</span>{' '}
        <span className="quiet small">
          in {withoutBidi(shortPath(grant.folder))}, <Ago at={grant.since} />
          {grant.lapses && ', until a run changes a file there'}
        </span>
        {revoke.error && <Failure error={revoke.error} />}
      </span>
      <Button disabled={revoke.isPending} onClick={() => revoke.mutate()}>
        Revoke
      </Button>
    </li>
  )
}
