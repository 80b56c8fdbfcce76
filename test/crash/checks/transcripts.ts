import type { Evidence, ProviderLine } from '../evidence.ts'
import { type Asked, type Expect, inTimeIn, json, requestsIn, runsIn, userTexts } from '../facts.ts'

/** I6: what a model is shown is whole, tells nothing twice, and never changes behind its back. */
export function checkTranscripts(evidence: Evidence, expect: Expect): void {
  const requests = requestsIn(evidence)
  for (const request of requests) {
    checkPairs(request, expect)
    for (const [text, told] of Map.groupBy(userTexts(request), (each) => each)) {
      // A plan that stops twice says so in the same words.
      const inputs = evidence.rows.inbox.filter((item) => json(item, 'payload_json').content === text).length
      expect(told.length <= Math.max(1, inputs), 'I6', `request ${request.run} tells an input twice: ${text}`)
    }
  }
  for (const { id } of runsIn(evidence))
    checkGrowth(
      inTimeIn(evidence).filter(({ runId }) => runId === id),
      expect,
    )
}

/** Each assistant message with calls is followed by the answers to them, all and in order. */
function checkPairs(request: ProviderLine, expect: Expect): void {
  const messages = request.body?.messages ?? []
  for (let at = 0; at < messages.length; ) {
    const calls = messages[at]?.tool_calls ?? []
    const answers = messages.slice(at + 1, at + 1 + calls.length).map(({ tool_call_id: id }) => id)
    const isPaired = calls.every(({ id }, which) => id === answers[which])
    expect(isPaired, 'I6', `request ${request.run}: calls ${calls.map(({ id }) => id)} are answered by ${answers}`)
    expect(messages[at]?.role !== 'tool', 'I6', `request ${request.run}: an answer to no call`)
    at += 1 + calls.length
  }
}

/** Within a run a transcript only grows; asking for a summary is another matter, and what follows it begins anew. */
function checkGrowth(ofRun: Asked[], expect: Expect): void {
  ofRun.slice(1).forEach(({ run, body }, at) => {
    if (isSummary(body?.messages) || isSummary(ofRun[at]?.body?.messages)) return
    const before = ofRun[at]?.body?.messages ?? []
    const isGrown = JSON.stringify(body?.messages.slice(0, before.length)) === JSON.stringify(before)
    expect(isGrown, 'I6', `request ${run} changes what request ${ofRun[at]?.run} told`)
  })
}

function isSummary(messages: { role: string; content?: unknown }[] = []): boolean {
  return messages.some(
    ({ role, content }) => role === 'system' && String(content).startsWith('This conversation is too long'),
  )
}
