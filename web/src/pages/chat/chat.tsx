import { type ReactNode, useCallback, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useFolder } from '../../api/folder.ts'
import { useApprovals, usePlans, useRun, useRuns } from '../../api/queries.ts'
import { post } from '../../api/request.ts'
import type { CommandOutcome, PathTurn, RunLine } from '../../api/wire.ts'
import { useAddress } from '../../parts/address.ts'
import { Budget } from '../../parts/budget.tsx'
import { Button } from '../../parts/button.tsx'
import { useKeys } from '../../parts/keys.ts'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { State } from '../../parts/state.tsx'
import { copyToClipboard } from '../../text/copy-to-clipboard.ts'
import styles from './chat.module.css'
import { CommandResult } from './command-outcome.tsx'
import { Composer } from './composer.tsx'
import { ForkDialog } from './fork-dialog.tsx'
import { LiveRequest } from './live-request.tsx'
import { useMarks } from './marks.ts'
import { useScrollPlace } from './scroll-place.ts'
import { type ChatVoice, type InputKind, useCommand, useSend } from './send.ts'
import { useSentInputs, WaitingInputs } from './sent-inputs.tsx'
import { SessionMenu } from './session-menu.tsx'
import { StarterExamples } from './starter-examples.tsx'
import { useThread } from './thread-data.ts'
import { useTree } from './tree-data.ts'
import { TurnBlock } from './turn-block.tsx'
import { TurnTree } from './turn-tree.tsx'

/** A session: its turns, what is under way, and the box to write in; the tree of turns beside it. */
export default function Chat(): ReactNode {
  const { session = 'main', turn } = useAddress()
  // A session has its own state: drafts, commands, what was sent.
  return <SessionChat key={session} session={session} shown={turn} />
}

function SessionChat({ session, shown }: { session: string; shown: string | undefined }): ReactNode {
  const thread = useThread(session, shown)
  const head = thread.turns.at(-1)?.id
  const tree = useTree(session, head)
  const live = useLiveWork(session)
  const answered = useAnsweredRun(live.own, thread.turns)
  const [sent, addSent] = useSentInputs(session)
  const marks = useMarks()
  const [forked, setForked] = useState<PathTurn>()
  const talk = useTalk(session, addSent)
  const actions = useTurnActions(session, { onFork: setForked, onMark: ({ id }) => marks.toggle(id) })
  const [, navigate] = useLocation()
  const { failure, attempt } = useAttempts()
  const compare = () => {
    if (marks.marked.length === 2) navigate(`/compare/${marks.marked.join('...')}`)
  }
  useScrollPlace({ shown, turns: thread.turns, isReady: !thread.isLoading, sent: sent.at(-1)?.itemId })
  useChatKeys({
    shown: thread.turns.find(({ id }) => id === shown) ?? thread.turns.at(-1),
    actions,
    live,
    attempt,
    compare,
  })

  return (
    <Page
      title={session}
      heading={<SessionMenu session={session} />}
      facts={<ChatFacts turns={thread.turns.at(-1)?.depth ?? 0} live={live} />}
      actions={live.requests.length > 0 && <Button onClick={() => attempt(stop(live))}>Stop</Button>}
      side={
        head !== undefined && tree.length > 0
          ? {
              label: 'Turns',
              content: (
                <TurnTree
                  turns={tree}
                  session={session}
                  head={head}
                  shown={shown}
                  marked={marks.marked}
                  onCompare={compare}
                />
              ),
            }
          : undefined
      }
      width="reading"
    >
      {thread.readEarlier && (
        <Button look="quiet" onClick={thread.readEarlier}>
          Show earlier turns
        </Button>
      )}
      {thread.error ? <Failure error={thread.error} /> : null}
      {thread.isLoading && thread.turns.length === 0 && !thread.error && <Loading />}
      <div className={styles['turns']}>
        {[
          ...thread.turns.map((turn) => (
            <TurnBlock
              key={keyOf(turn)}
              turn={turn}
              run={undefined}
              isShown={turn.id === shown}
              isMarked={marks.marked.includes(turn.id)}
              {...actions}
            />
          )),
          // In one list with the turns: the answer keeps its element when it becomes one.
          answered && <TurnBlock key={answered.id} turn={undefined} run={answered} {...actions} />,
        ]}
        <LiveRequest runs={live.others} plans={live.plans} approvals={live.approvals} />
        <WaitingInputs inputs={sent} />
      </div>
      {!thread.isLoading && thread.turns.length === 0 && !live.isBusy && sent.length === 0 && (
        <EmptyState title="Nothing was said here yet">
          <p>Write to the coordinator: it answers, or gives the work to agents and comes back with their results.</p>
          <StarterExamples onChoose={(text) => attempt(talk.onSend(text, 'message'))} />
        </EmptyState>
      )}
      {failure !== undefined && <Failure error={failure} />}
      {talk.outcome && <CommandResult shown={talk.outcome} onClose={talk.closeOutcome} />}
      <Composer session={session} isBusy={live.isBusy} onSend={talk.onSend} onCommand={talk.onCommand} />
      <p className="visually-hidden" role="status">
        {live.isBusy ? '' : thread.turns.length > 0 ? 'Answer finished' : ''}
      </p>
      <ForkDialog turn={forked} session={session} onClose={() => setForked(undefined)} />
    </Page>
  )
}

function ChatFacts({ turns, live }: { turns: number; live: LiveWork }): ReactNode {
  return (
    <>
      {turns > 0 && <span className="mono">turn {turns}</span>}
      {live.count > 0 && <State name="running" word={`${live.count} running`} />}
      {live.approvals.length > 0 && (
        <State
          name="needs-you"
          word={live.approvals.length === 1 ? '1 needs you' : `${live.approvals.length} need you`}
        />
      )}
      {live.own && <RequestBudget runId={live.own.id} />}
    </>
  )
}

function RequestBudget({ runId }: { runId: string }): ReactNode {
  const { data } = useRun(runId)
  return data && <Budget spent={data.budget.spentUsd} of={data.budget.usd} what="for this request" />
}

/** What is under way for a session. */
interface LiveWork {
  own: RunLine | undefined
  others: RunLine[]
  /** Requests of which something is under way, by their first run. */
  requests: string[]
  plans: NonNullable<ReturnType<typeof usePlans>['data']>
  approvals: NonNullable<ReturnType<typeof useApprovals>['data']>
  count: number
  isBusy: boolean
}

function useLiveWork(session: string): LiveWork {
  const folder = useFolder()
  const { data: runs = [] } = useRuns({ folder, requestsOf: session, limit: 100 })
  const { data: plans = [] } = usePlans()
  const { data: approvals = [] } = useApprovals()
  const own = runs.find((run) => run.session === session && run.parentRunId === null)
  const others = runs.filter((run) => run !== own && run.via !== 'narrator')
  return {
    own,
    others,
    requests: [...new Set([...(own ? [own] : []), ...others].map(({ rootRunId }) => rootRunId))],
    plans: plans.filter(
      ({ session: home, status, needsYou }) =>
        home === session && (needsYou || status === 'running' || status === 'proposed'),
    ),
    approvals: approvals.filter((approval) => approval.requestSession === session && approval.folder === folder),
    count: runs.filter(({ state }) => state === 'running').length,
    isBusy: own !== undefined,
  }
}

/** A turn has the key of its run; a summary of earlier turns is not the answer of one. */
function keyOf({ id, runId, compaction }: PathTurn): string {
  return compaction === null ? runId : id
}

/** The run whose answer is being written; after its end, until its turn has been read. */
function useAnsweredRun(own: RunLine | undefined, turns: readonly PathTurn[]): RunLine | undefined {
  const head = turns.at(-1)?.id
  const [last, setLast] = useState({ run: own, head })
  if (own && (last.run !== own || last.head !== head)) setLast({ run: own, head })
  const run = own ?? (last.head === head ? last.run : undefined)
  return turns.some(({ runId }) => runId === run?.id) ? undefined : run
}

/** Stops everything that is under way for a session, as `/stop` does. */
function stop({ requests }: LiveWork): Promise<unknown> {
  return Promise.all(requests.map((root) => post(`/v1/runs/${root}/cancel`)))
}

/** Shows why something failed that has no place of its own for it, until the next attempt. */
function useAttempts() {
  const [failure, setFailure] = useState<unknown>()
  const attempt = useCallback((act: Promise<unknown> | undefined) => {
    setFailure(undefined)
    act?.catch(setFailure)
  }, [])
  return { failure, attempt }
}

/** Sends messages and commands, and does what a command asks of its chat. */
function useTalk(session: string, addSent: ReturnType<typeof useSentInputs>[1]) {
  const [, navigate] = useLocation()
  const [voice, setVoice] = useState<ChatVoice>({})
  const [outcome, setOutcome] = useState<{ line: string; outcome: CommandOutcome }>()
  const send = useSend(session, voice)
  const command = useCommand(session, voice)
  const onSend = async (content: string, kind: InputKind) => {
    const { itemId } = await send.mutateAsync({ content, kind })
    addSent({ itemId, content, kind })
    const { compact: _, ...kept } = voice
    setVoice(kept)
  }
  const onCommand = async (line: string) => {
    const done = await command.mutateAsync(line)
    setOutcome(done.blocks.length > 0 ? { line, outcome: done } : undefined)
    if (done.voice) setVoice({ ...voice, ...done.voice })
    if (done.say) await onSend(done.say.content, done.say.kind)
    if (done.go) navigate(`/s/${encodeURIComponent(done.go.session)}`)
    if (done.leave) navigate('/')
  }
  return { onSend, onCommand, outcome, closeOutcome: () => setOutcome(undefined) }
}

function useTurnActions(
  session: string,
  { onFork, onMark }: { onFork(turn: PathTurn): void; onMark(turn: PathTurn): void },
) {
  const folder = useFolder()
  const [, navigate] = useLocation()
  const onCopyLink = useCallback(
    ({ id }: PathTurn) => {
      const address = new URL(`/s/${encodeURIComponent(session)}/${id}`, window.location.origin)
      address.searchParams.set('in', folder)
      void copyToClipboard(address.href)
    },
    [session, folder],
  )
  return useMemo(
    () => ({
      onFork,
      onMark,
      onCopyLink,
      onWhy: ({ id }: PathTurn) => navigate(`/why/turn:${id}`),
      onShow: ({ id }: PathTurn) => navigate(`/t/${id}`),
    }),
    [onFork, onMark, onCopyLink, navigate],
  )
}

interface ChatKeys {
  /** The turn that the address names, else the last one. */
  shown: PathTurn | undefined
  actions: ReturnType<typeof useTurnActions>
  live: LiveWork
  attempt(act: Promise<unknown> | undefined): void
  compare(): void
}

function useChatKeys({ shown, actions, live, attempt, compare }: ChatKeys): void {
  const bound = useMemo(() => {
    const withTurn = (act: (turn: PathTurn) => void) => () => shown && act(shown)
    return [
      { keys: 'f', does: 'Fork from the turn that is shown', run: withTurn(actions.onFork) },
      { keys: 'm', does: 'Mark the turn that is shown', run: withTurn(actions.onMark) },
      { keys: 'c', does: 'Compare the two marked turns', run: compare },
      { keys: 'w', does: 'Why this answer', run: withTurn(actions.onWhy) },
      { keys: 'y', does: 'Copy the link of the turn that is shown', run: withTurn(actions.onCopyLink) },
      { keys: 's', does: 'Stop what is running', run: () => attempt(stop(live)) },
      { keys: '.', does: 'Go to the end', run: () => window.scrollTo({ top: document.body.scrollHeight }) },
      { keys: 'i', does: 'Write a message', run: () => document.getElementById('message')?.focus() },
    ]
  }, [shown, actions, live, attempt, compare])
  useKeys(bound)
}
