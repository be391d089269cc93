// Fibers: functions that are left in the middle and gone on with later, one at a time. The
// emulated device and the PTX machine run CUDA threads as fibers.
#pragma once
#include <cstddef>
#include <vector>
#include <sys/mman.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

#ifdef __x86_64__
// Save what a function call must keep, change stacks, restore. The stack of a new fiber is laid out
// so that the first "return" enters it.
extern "C" void switch_fiber(void** save, void* load);
asm(".text\n.globl switch_fiber\n.hidden switch_fiber\n.type switch_fiber,@function\n"
    "switch_fiber:\n"
    " pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
    " movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
    " popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n"
    ".size switch_fiber, .-switch_fiber\n");
#endif

namespace fibers {

const size_t STACK_BYTES = 256 << 10;  // of address space; memory is what a fiber touches

struct Fiber {
    void* context;  // where it goes on
    char* stack;
};

static std::vector<char*> free_stacks;
static void* scheduler;

// A fiber that will call a function, which must never return.
static void create(Fiber& fiber, void (*entry)()) {
    if (free_stacks.empty())
        free_stacks.push_back((char*)mmap(0, STACK_BYTES, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0));
    fiber.stack = free_stacks.back();
    free_stacks.pop_back();
#ifdef __x86_64__
    // not all at the same places of a page, so that caches have room for the ends of many stacks
    const size_t shift = (size_t)fiber.stack / STACK_BYTES % 29 * 128;
    void** top = (void**)(fiber.stack + STACK_BYTES - 64 - shift);
    *--top = nullptr;
    *--top = (void*)entry;
    for (int i = 0; i < 6; i++) *--top = nullptr;
    fiber.context = top;
#else
    ucontext_t* context = new ucontext_t;
    getcontext(context);
    context->uc_stack.ss_sp = fiber.stack;
    context->uc_stack.ss_size = STACK_BYTES;
    makecontext(context, entry, 0);
    fiber.context = context;
#endif
}

// From the scheduler into a fiber, until it leaves.
static void resume(Fiber& fiber) {
#ifdef __x86_64__
    switch_fiber(&scheduler, fiber.context);
#else
    ucontext_t here;
    scheduler = &here;
    swapcontext(&here, (ucontext_t*)fiber.context);
#endif
}

// From a fiber back to the scheduler.
static void leave(Fiber& fiber) {
#ifdef __x86_64__
    switch_fiber(&fiber.context, scheduler);
#else
    swapcontext((ucontext_t*)fiber.context, (ucontext_t*)scheduler);
#endif
}

// Called by the scheduler for a fiber that will not be gone on with.
static void end(Fiber& fiber) {
    free_stacks.push_back(fiber.stack);
#ifndef __x86_64__
    delete (ucontext_t*)fiber.context;
#endif
}

}  // namespace fibers
