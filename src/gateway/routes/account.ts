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
}
