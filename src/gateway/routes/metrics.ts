import type { MetricsApp } from '../../api/metrics.ts'
import { get, type RoutesOf } from './route.ts'

export const metricsRoutes: RoutesOf<MetricsApp> = {
  metrics: [
    get('metrics', {
      path: '/v1/metrics',
      summary: 'Figures for monitoring; /metrics has them in the format of Prometheus.',
      call: (app) => app.metrics(),
      fields: () => ({}),
    }),
  ],
}
