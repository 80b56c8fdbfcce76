import { z } from 'zod'
import type { FileSearch, MemoryApp } from '../../api/views/memory.ts'
import { count, countInQuery, flag, folder } from './fields.ts'
import { get, post, type RoutesOf } from './route.ts'

const content = z.string()
const words = z.array(z.string()).max(1000)
const searchBody = z.strictObject({ question: z.string(), limit: count.default(10) })

export const memoryRoutes: RoutesOf<MemoryApp & FileSearch> = {
  narratives: [
    get('narratives', {
      path: '/v1/narratives',
      summary: 'Summaries of the work in a folder, or in all, newest first.',
      input: z.strictObject({ folder: folder.exactOptional(), limit: countInQuery.default(10) }),
      answer: { key: 'narratives' },
      call: (app, { id: _, ...query }) => app.narratives(query),
      fields: (query) => ({ ...query }),
    }),
  ],
  memories: [
    get('memories', {
      path: '/v1/memories',
      summary: 'Active memories, newest first; with `all`, followed by archived ones.',
      input: z.strictObject({ limit: countInQuery.default(10), all: flag.default(false) }),
      answer: { key: 'memories' },
      call: (app, { limit, all }) => app.memories({ limit, all }),
      fields: (query) => ({ ...query }),
    }),
  ],
  searchMemories: [
    post('searchMemories', {
      path: '/v1/memories/search',
      summary: 'Memories that share words or meaning with a question, best first.',
      key: 'ignored',
      input: searchBody,
      answer: 'plain',
      call: (app, { question, limit }) => app.searchMemories(question, { limit }),
      fields: (question, { limit }) => ({ question, limit }),
    }),
  ],
  remember: [
    post('remember', {
      path: '/v1/memories',
      summary: 'Stores a statement that is worth knowing later.',
      input: z.strictObject({ content, tags: words.exactOptional(), keywords: words.exactOptional() }),
      call: (app, { id: _, ...memory }) => app.remember(memory),
      fields: (memory) => ({ ...memory }),
    }),
  ],
  changeMemory: [
    post('changeMemory', {
      path: '/v1/memories/:id',
      summary: 'Changes a memory: new content makes a new one, which replaces the old one.',
      idForm: 'number',
      input: z.strictObject({
        content: content.exactOptional(),
        tags: words.exactOptional(),
        keywords: words.exactOptional(),
      }),
      call: (app, { id, ...change }) => app.changeMemory(Number(id), change),
      fields: (id, change) => ({ ...change, id: String(id) }),
    }),
  ],
  trustMemory: [
    post('trustMemory', {
      path: '/v1/memories/:id/trust',
      summary: 'Makes an untrusted memory trusted: one with the same words and sources replaces it.',
      idForm: 'number',
      input: z.strictObject({}),
      call: (app, { id }) => app.trustMemory(Number(id)),
      fields: (id) => ({ id: String(id) }),
    }),
  ],
  forgetMemory: [
    post('forgetMemory', {
      path: '/v1/memories/:id/forget',
      summary: 'Deletes a memory; with `older`, those that it replaced too.',
      idForm: 'number',
      input: z.strictObject({ older: z.boolean().default(false) }),
      answer: 'plain',
      call: (app, { id, older }) => app.forgetMemory(Number(id), { older }),
      fields: (id, options = {}) => ({ ...options, id: String(id) }),
    }),
  ],
  exportMemories: [
    get('exportMemories', {
      path: '/v1/memories/export',
      summary: 'A readable file that can be imported again, in pieces: each line is a JSON string. Newest first.',
      input: z.strictObject({ all: flag.default(false) }),
      answer: 'pieces',
      call: (app, { all }) => app.exportMemories({ all }),
      fields: (options = {}) => ({ ...options }),
    }),
  ],
  importMemories: [
    post('importMemories', {
      path: '/v1/memories/import',
      summary: 'Takes in such a file. Its trust marks count only with `trust`.',
      input: z.strictObject({ text: z.string(), name: z.string().max(4096), trust: z.boolean().default(false) }),
      answer: 'plain',
      call: (app, { text, name, trust }) => app.importMemories(text, { name, trust }),
      fields: (text, options) => ({ text, ...options }),
    }),
  ],
  searchFiles: [
    post('searchFiles', {
      path: '/v1/files/search',
      summary: "Passages of the owner's files that share words with a question, best first.",
      key: 'ignored',
      input: searchBody,
      answer: { key: 'passages' },
      call: (app, { question, limit }) => app.searchFiles(question, { limit }),
      fields: (question, { limit }) => ({ question, limit }),
    }),
  ],
}
