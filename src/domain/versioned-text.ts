export const TEXT_KINDS = ['prompt', 'knowledge_doc'] as const

/** What a text with versions is: a prompt, named by its step, or a knowledge doc, named by its slug. */
export type TextKind = (typeof TEXT_KINDS)[number]
