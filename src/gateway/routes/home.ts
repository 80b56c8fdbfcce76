import { z } from 'zod'
import type { HomeApp } from '../../api/home.ts'
import { folder } from './fields.ts'
import { get, type RoutesOf } from './route.ts'

export const homeRoutes: RoutesOf<HomeApp> = {
  doctor: [
    get('doctor', {
      path: '/v1/doctor',
      summary: 'Checks the installation: each finding with its remedy.',
      input: z.strictObject({ folder }),
      answer: { key: 'checks' },
      call: (app, { folder }) => app.doctor(folder),
      fields: (folder) => ({ folder }),
    }),
  ],
  settings: [
    get('settings', {
      path: '/v1/settings',
      summary: 'All settings as they are in use, with the line that sets each; secrets redacted.',
      call: (app) => app.settings(),
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
