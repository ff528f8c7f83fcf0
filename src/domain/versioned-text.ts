export const TEXT_KINDS = ['prompt', 'knowledge_doc'] as const

/** The kind of a versioned text: a prompt, named by its step, or a knowledge doc, named by its slug. */
export type TextKind = (typeof TEXT_KINDS)[number]
