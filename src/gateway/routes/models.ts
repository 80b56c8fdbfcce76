import type { ModelApp } from '../../api/models.ts'
import { get, type RoutesOf } from './route.ts'

export const modelRoutes: RoutesOf<ModelApp> = {
  models: [
    get('models', {
      path: '/v1/models',
      summary: 'The models that can be asked by name.',
      answer: { key: 'models' },
      call: (app) => app.models(),
      fields: () => ({}),
    }),
  ],
}
