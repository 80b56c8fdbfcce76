import type { ApprovalApp } from '../api/approvals.ts'
import { assertHashGiven } from '../engine/run/check-input.ts'
import type { Runtime } from '../engine/runtime.ts'
import { approvalId, listApprovals, revoke, viewGrants } from '../engine/views/questions.ts'
import { itemsOfRun } from '../store/rows/inbox.ts'
import { findSessions } from '../store/rows/sessions.ts'
import type { Caller } from './guard/caller.ts'
import type { ProcessWorker } from './process-worker.ts'

export function approvalApp(runtime: Runtime, worker: Pick<ProcessWorker, 'decide'>, caller: Caller): ApprovalApp {
  const { store } = runtime
  return {
    approvals: () => store.read((rows) => listApprovals(rows, caller.only('approval.list'))),
    async decide(reference, decision) {
      assertHashGiven(reference, decision)
      const decided = await worker.decide(approvalId(reference), decision, caller.text)
      const { approval, run, root, claimed } = decided
      const isRoot = root.id === run.id
      return store.read(async (rows) => {
        const [session] = isRoot ? [decided.session] : await findSessions(rows, { id: root.sessionId ?? '' })
        const [item] = (isRoot && claimed?.items) || (await itemsOfRun(rows, run.rootRunId))
        const { label = '', folder = '' } = session ?? {}
        return { id: approval.id, runId: run.id, session: label, folder, itemId: item?.id ?? '' }
      })
    },
    grants: () => store.read(viewGrants),
    revokeGrant: (id) => revoke(runtime, id),
  }
}
