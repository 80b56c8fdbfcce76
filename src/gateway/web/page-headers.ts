import type { ServerResponse } from 'node:http'

const policy = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "font-src 'self'", "connect-src 'self'"],
  ...["manifest-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join('; ')

const headers = Object.entries({
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
})

/** Headers of every answer, refusals and streams included: nothing that we send may run, load or be shown elsewhere. */
export function setPageHeaders(response: ServerResponse): void {
  for (const [name, value] of headers) response.setHeader(name, value)
}
