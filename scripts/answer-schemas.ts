import { join } from 'node:path'
import { API, type Checker, SignatureKind, SymbolFlags, type Type, TypeFlags } from 'typescript/unstable/sync'

// JSON schemas of what the App answers, from the types of src/api: test/gateway/answer-schemas.test.ts keeps them in
// src/gateway/answer-schemas.json, and `npm run answers` writes that file.

/** A JSON schema. */
export type Schema = { [key: string]: unknown }

interface AnswerSchemas {
  /** By method of App, and `Health` and `Me`; methods that answer with nothing or with a stream are left out. */
  answers: Record<string, Schema>
  /** Types that have a name, which answers refer to. */
  definitions: Record<string, Schema>
}

const root = join(import.meta.dirname, '..')

/** Reads the types of all answers. */
export function answerSchemas(): AnswerSchemas {
  const api = new API({ cwd: root })
  try {
    const file = join(root, 'scripts/tsconfig.answers.json')
    const project = api.updateSnapshot({ openProject: file }).getProject(file)
    if (!project) throw new Error(`there is no project ${file}`)
    const { checker, program } = project
    const declared = (path: string, name: string): Type => {
      const source = program.getSourceFile(join(root, path))
      const statement = source?.statements.find((each) => 'name' in each && nameOf(each.name) === name)
      const symbol = statement && checker.getSymbolAtLocation((statement as unknown as { name: never }).name)
      if (!symbol) throw new Error(`${path} declares no ${name}`)
      return checker.getDeclaredTypeOfSymbol(symbol)
    }
    const writer = new SchemaWriter(checker)
    const answers: Record<string, Schema> = {}
    for (const method of checker.getPropertiesOfType(declared('src/api/app.ts', 'App'))) {
      const schema = writer.answerOf(checker.getTypeOfSymbol(method))
      if (schema) answers[method.name] = schema
    }
    for (const name of ['Health', 'Me']) answers[name] = writer.schemaOf(declared('src/gateway/api.ts', name))
    return { answers: sorted(answers), definitions: sorted(writer.definitions) }
  } finally {
    api.close()
  }
}

function nameOf(name: unknown): string | undefined {
  return (name as { text?: string } | undefined)?.text
}

function sorted<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Turns types into schemas; those with a name of their own become definitions. */
class SchemaWriter {
  readonly definitions: Record<string, Schema> = {}
  readonly #checker: Checker
  readonly #names = new Map<string, number>()

  constructor(checker: Checker) {
    this.#checker = checker
  }

  /** Schema of what the promise of a method holds; undefined for nothing, and for a stream. */
  answerOf(method: Type | undefined): Schema | undefined {
    const [signature] = method ? this.#checker.getSignaturesOfType(method, SignatureKind.Call) : []
    const promise = signature && this.#checker.getReturnTypeOfSignature(signature)
    if (!promise?.isTypeReference() || promise.getSymbol()?.name !== 'Promise') return undefined
    const [answer] = this.#checker.getTypeArguments(promise)
    return !answer || answer.flags & TypeFlags.Void ? undefined : this.schemaOf(answer)
  }

  schemaOf(type: Type): Schema {
    const { flags } = type
    if (flags & TypeFlags.AnyOrUnknown) return {}
    if (flags & TypeFlags.Null) return { type: 'null' }
    if (type.isStringLiteralType() || type.isNumberLiteralType() || type.isBooleanLiteralType())
      return { const: type.value }
    if (type.isUnionType()) return this.#union(type.getTypes())
    if (flags & TypeFlags.StringLike) return { type: 'string' }
    if (flags & TypeFlags.NumberLike) return { type: 'number' }
    if (flags & TypeFlags.BooleanLike) return { type: 'boolean' }
    if (this.#checker.isTupleType(type) && type.isTypeReference())
      return { type: 'array', prefixItems: this.#checker.getTypeArguments(type).map((each) => this.schemaOf(each)) }
    if (this.#checker.isArrayLikeType(type) && type.isTypeReference()) {
      const [item] = this.#checker.getTypeArguments(type)
      return { type: 'array', items: item ? this.schemaOf(item) : {} }
    }
    if (flags & (TypeFlags.Object | TypeFlags.Intersection)) return this.#named(type)
    throw new Error(`no schema for ${this.#checker.typeToString(type)}`)
  }

  #union(all: readonly Type[]): Schema {
    const types = all.filter(({ flags }) => !(flags & TypeFlags.Undefined))
    const truths = types.filter((each) => each.isBooleanLiteralType())
    const rest = types.filter((each) => !each.isBooleanLiteralType())
    const literals = rest.filter((each) => each.isStringLiteralType() || each.isNumberLiteralType())
    const others = rest.filter((each) => !(each.isStringLiteralType() || each.isNumberLiteralType()))
    const schemas: Schema[] = [
      ...(literals.length > 1 ? [{ enum: literals.map((each) => (each as { value?: unknown }).value) }] : []),
      ...(literals.length === 1 ? literals.map((each) => this.schemaOf(each)) : []),
      ...others.map((each) => this.schemaOf(each)),
      ...(truths.length > 1 ? [{ type: 'boolean' }] : truths.map((each) => this.schemaOf(each))),
    ]
    const [only] = schemas
    return schemas.length === 1 && only ? only : { anyOf: schemas }
  }

  /** A reference to the definition of an interface or of a named type; what has no name is written out. */
  #named(type: Type): Schema {
    const alias = type.getAliasSymbol()
    const symbol = alias ?? (type.isClassOrInterface() ? type.getSymbol() : undefined)
    const isGeneric = this.#argumentsOf(type, alias !== undefined).length > 0
    if (!symbol || isGeneric || symbol.name.startsWith('__')) return this.#object(type)
    const known = this.#names.get(symbol.name)
    // Two types of one name in two files: the second is written out.
    if (known !== undefined && known !== symbol.id) return this.#object(type)
    if (known === undefined) {
      this.#names.set(symbol.name, symbol.id)
      this.definitions[symbol.name] = withDescription(
        this.#object(type),
        this.#checker.getDocumentationCommentOfSymbol(symbol),
      )
    }
    return { $ref: `#/components/schemas/${symbol.name}` }
  }

  #argumentsOf(type: Type, isAlias: boolean): readonly Type[] {
    if (isAlias) return type.getAliasTypeArguments() ?? []
    return type.isTypeReference() ? this.#checker.getTypeArguments(type) : []
  }

  #object(type: Type): Schema {
    const checker = this.#checker
    const properties: Record<string, Schema> = {}
    const required: string[] = []
    for (const property of checker.getPropertiesOfType(type)) {
      const found = checker.getTypeOfSymbol(property)
      // Functions are not sent.
      if (!found || checker.getSignaturesOfType(found, SignatureKind.Call).length > 0) continue
      properties[property.name] = withDescription(
        this.schemaOf(found),
        checker.getDocumentationCommentOfSymbol(property),
      )
      if (!(property.flags & SymbolFlags.Optional)) required.push(property.name)
    }
    const [index] = checker.getIndexInfosOfType(type)
    return {
      type: 'object',
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(required.length > 0 && { required }),
      ...(index && { additionalProperties: this.schemaOf(index.valueType) }),
    }
  }
}

function withDescription(schema: Schema, text: string): Schema {
  const description = text.replaceAll(/\s+/g, ' ').trim()
  return description === '' ? schema : { ...schema, description }
}
