import type { Decision } from '../domain/approval.ts'
import type { ApprovalView, GrantView } from './views/approval.ts'

/** Calls that wait for approval, and grants. `folder` is the caller's working directory. */
export interface ApprovalApp {
  /** Calls that wait for approval, oldest first. */
  approvals(): Promise<ApprovalView[]>
  /** Answers an approval; the run continues once a worker has a slot. `itemId` is the request's input. */
  decide(
    approval: string,
    decision: Decision,
  ): Promise<{ id: number; runId: string; session: string; folder: string; itemId: string }>
  grants(): Promise<GrantView[]>
  revokeGrant(id: number): Promise<void>
}
