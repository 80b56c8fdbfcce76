import { z } from 'zod'
import type { AccountApp } from '../../api/account.ts'
import { get, type RoutesOf } from './route.ts'

export const accountRoutes: RoutesOf<AccountApp> = {
  whoami: [
    get('whoami', {
      path: '/v1/whoami',
      summary: 'Who the caller is, and within which limits.',
      call: (app) => app.whoami(),
      fields: () => ({}),
    }),
  ],
  setting: [
    get('setting', {
      path: '/v1/config',
      summary: 'One setting as it is in use, secrets redacted.',
      input: z.strictObject({ key: z.string().max(500) }),
      call: (app, { key }) => app.setting(key),
      fields: (key) => ({ key }),
    }),
  ],
}
