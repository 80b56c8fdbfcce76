import type { Part } from './message.ts'
import type { Model } from './model.ts'

const pictures = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
const texts = /^(text\/|application\/(json|xml|yaml|x-yaml|toml|javascript|typescript|sql|x-sh)\b)|\+(json|xml|yaml)$/
/** Providers refuse more. */
const mostBytes = 5 * 1024 * 1024

/** Why a model cannot be given this part; undefined when it can. Text files go to every model. */
export function whyRefused(part: Part, model: Pick<Model, 'name' | 'sees' | 'readsPdf'>): string | undefined {
  const what = part.type === 'file' ? part.path : 'the picture'
  if (bytesOf(part) > mostBytes) return `${what} has more than 5 MB`
  if (isTextFile(part)) return undefined
  if (part.mediaType === 'application/pdf')
    return model.readsPdf ? undefined : `the model ${model.name} cannot read PDF documents`
  if (!pictures.includes(part.mediaType))
    return `${what} is ${part.mediaType}, and models read text, PDF, PNG, JPEG, GIF and WebP`
  return model.sees ? undefined : `the model ${model.name} cannot see pictures`
}

/** A file that is told to models as text. */
export function isTextFile(part: Part): boolean {
  return part.type === 'file' && texts.test(part.mediaType)
}

/** What a part holds, in bytes: its data is base64. */
export function bytesOf({ data }: Part): number {
  return Math.floor((data.length * 3) / 4)
}
