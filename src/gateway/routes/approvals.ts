import { z } from 'zod'
import type { ApprovalApp } from '../../api/approvals.ts'
import { decisions } from '../../domain/approval.ts'
import { get, idIn, post, type RoutesOf } from './route.ts'

export const approvalRoutes: RoutesOf<ApprovalApp> = {
  approvals: [
    get('approvals', {
      path: '/v1/approvals',
      summary: 'Calls that wait for approval, oldest first.',
      answer: { key: 'approvals' },
      call: (app) => app.approvals(),
      fields: () => ({}),
    }),
  ],
  decide: [
    post('decide', {
      path: '/v1/approvals/:id',
      summary: 'Answers an approval; all but `no` need the hash of what was shown.',
      idForm: 'text',
      input: z.strictObject({
        answer: z.enum(decisions),
        reason: z.string().max(1000).exactOptional(),
        hash: z.string().max(200).exactOptional(),
      }),
      call: (app, { id, ...decision }) => app.decide(id, decision),
      fields: (approval, decision) => ({ id: idIn(approval, 'approval') ?? approval, ...decision }),
    }),
  ],
  grants: [
    get('grants', {
      path: '/v1/grants',
      summary: 'Permissions that hold for more than one call.',
      answer: { key: 'grants' },
      call: (app) => app.grants(),
      fields: () => ({}),
    }),
  ],
  revokeGrant: [
    post('revokeGrant', {
      path: '/v1/grants/:id/revoke',
      summary: 'Takes a grant back.',
      idForm: 'number',
      call: (app, { id }) => app.revokeGrant(Number(id)),
      fields: (id) => ({ id: String(id) }),
    }),
  ],
}
