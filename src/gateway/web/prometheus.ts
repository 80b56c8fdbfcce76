import type { HomeMetrics } from '../../api/metrics.ts'
import type { HistogramView } from '../../domain/histogram.ts'

/** Counters of the server since it started. */
export interface ServerMetrics {
  version: string
  startedAtSeconds: number
  memoryBytes: number
  streamClients: number
  /** Events by kind. */
  events: ReadonlyMap<string, number>
  /** Runs that ended, by outcome. */
  ended: ReadonlyMap<string, number>
  /** Answers over TCP, by status. */
  answers: ReadonlyMap<string, number>
}

type Labels = Record<string, string | number>
type Sample = [labels: Labels, value: number]

/** Figures in the text format of Prometheus. */
export function prometheusText(home: HomeMetrics, server: ServerMetrics): string {
  const states = ['queued', 'running', 'waiting']
  const unfinished = new Map(home.runs.map(({ state, count }) => [state, count]))
  return [
    metric('heddle_info', 'gauge', 'Version of heddle.', [[{ version: server.version }, 1]]),
    metric(
      'heddle_runs',
      'gauge',
      'Runs that are not over, by state.',
      states.map((state) => [{ state }, unfinished.get(state) ?? 0]),
    ),
    metric('heddle_runs_ended_total', 'counter', 'Runs that ended since the start.', samples('state', server.ended)),
    metric('heddle_approvals_open', 'gauge', 'Questions that wait for an answer.', [[{}, home.openApprovals]]),
    metric('heddle_today_tokens', 'gauge', 'Tokens of today (UTC).', [
      [{ kind: 'input' }, home.today.inputTokens],
      [{ kind: 'output' }, home.today.outputTokens],
    ]),
    metric('heddle_today_cost_usd', 'gauge', 'Cost of today (UTC) in US dollars.', [[{}, home.today.costUsd]]),
    metric('heddle_today_limit_usd', 'gauge', 'What may be spent in a day.', [[{}, home.today.limitUsd]]),
    metric('heddle_events_total', 'counter', 'Events since the start, by kind.', samples('kind', server.events)),
    metric('heddle_stream_clients', 'gauge', 'Clients that follow events.', [[{}, server.streamClients]]),
    metric('heddle_http_answers_total', 'counter', 'Answers over TCP, by status.', samples('status', server.answers)),
    histogram('heddle_commit_duration_seconds', 'Writes to the database, up to COMMIT.', [[{}, home.commits]]),
    histogram(
      'heddle_model_call_duration_seconds',
      'Model calls.',
      home.modelCalls.map(({ model, seconds }) => [{ model }, seconds]),
    ),
    metric('process_resident_memory_bytes', 'gauge', 'Memory of the process.', [[{}, server.memoryBytes]]),
    metric('process_start_time_seconds', 'gauge', 'Start, in seconds since 1970.', [[{}, server.startedAtSeconds]]),
  ].join('')
}

function metric(name: string, type: 'gauge' | 'counter', help: string, values: readonly Sample[]): string {
  return `${header(name, type, help)}${values.map(([labels, value]) => line(name, labels, value)).join('')}`
}

function histogram(name: string, help: string, values: readonly (readonly [Labels, HistogramView])[]): string {
  const lines = values.map(([labels, { buckets, sum, count }]) => [
    ...buckets.map((bucket) => line(`${name}_bucket`, { ...labels, le: bucket.seconds }, bucket.count)),
    line(`${name}_bucket`, { ...labels, le: '+Inf' }, count),
    line(`${name}_sum`, labels, sum),
    line(`${name}_count`, labels, count),
  ])
  return `${header(name, 'histogram', help)}${lines.flat().join('')}`
}

function samples(label: string, counts: ReadonlyMap<string, number>): Sample[] {
  return [...counts].map(([value, count]) => [{ [label]: value }, count])
}

function header(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text))}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
}

/** Names of models are the owner's or a provider's. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
