// How a candidate in C++ is called: values come as numbers, vectors or matrices, and go back so.
// The candidate's text follows this one in the same translation unit; then a table of its functions.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace oragent {

struct Value {
    std::int32_t whole;  // 1: 64-bit whole numbers, 0: doubles
    std::int32_t dimensions;
    std::int64_t shape[2];
    void* data;
};

inline double real(const Value& value, std::int64_t at) {
    return value.whole ? static_cast<double>(static_cast<const std::int64_t*>(value.data)[at])
                       : static_cast<const double*>(value.data)[at];
}

template <class T>
T number(const Value& value, std::int64_t at) {
    if constexpr (std::is_floating_point_v<T>) {
        return static_cast<T>(real(value, at));
    } else {
        if (!value.whole) throw std::invalid_argument("gets numbers that are not whole where it takes whole ones");
        return static_cast<T>(static_cast<const std::int64_t*>(value.data)[at]);
    }
}

inline void expect(const Value& value, int dimensions) {
    if (value.dimensions != dimensions)
        throw std::invalid_argument("gets an argument of " + std::to_string(value.dimensions) +
                                    " dimensions where it takes one of " + std::to_string(dimensions));
}

template <class T>
struct From {
    static_assert(std::is_arithmetic_v<T>, "a parameter must be a number, a std::vector or a std::span of numbers");
    static T make(const Value& value) {
        expect(value, 0);
        return number<T>(value, 0);
    }
};

template <class T>
struct From<std::vector<T>> {
    static std::vector<T> make(const Value& value) {
        expect(value, 1);
        std::vector<T> made(static_cast<std::size_t>(value.shape[0]));
        for (std::int64_t at = 0; at < value.shape[0]; ++at) made[at] = number<T>(value, at);
        return made;
    }
};

template <class T>
struct From<std::vector<std::vector<T>>> {
    static std::vector<std::vector<T>> make(const Value& value) {
        expect(value, 2);
        std::vector<std::vector<T>> made(static_cast<std::size_t>(value.shape[0]));
        for (std::int64_t row = 0; row < value.shape[0]; ++row) {
            made[row].resize(static_cast<std::size_t>(value.shape[1]));
            for (std::int64_t at = 0; at < value.shape[1]; ++at)
                made[row][at] = number<T>(value, row * value.shape[1] + at);
        }
        return made;
    }
};

template <>
struct From<std::span<const double>> {
    static std::span<const double> make(const Value& value) {
        expect(value, 1);
        if (value.whole) throw std::invalid_argument("gets whole numbers where it takes std::span<const double>");
        return {static_cast<const double*>(value.data), static_cast<std::size_t>(value.shape[0])};
    }
};

template <>
struct From<std::span<const std::int64_t>> {
    static std::span<const std::int64_t> make(const Value& value) {
        expect(value, 1);
        if (!value.whole) throw std::invalid_argument("gets numbers that are not whole where it takes whole ones");
        return {static_cast<const std::int64_t*>(value.data), static_cast<std::size_t>(value.shape[0])};
    }
};

template <class T>
Value room_for(int dimensions, std::int64_t rows, std::int64_t columns) {
    Value value{std::is_integral_v<T>, dimensions, {rows, columns}, nullptr};
    std::int64_t count = dimensions == 0 ? 1 : dimensions == 1 ? rows : rows * columns;
    value.data = std::malloc(static_cast<std::size_t>(count > 0 ? count : 1) * 8);
    if (!value.data) throw std::bad_alloc();
    return value;
}

template <class T>
void put(Value& value, std::int64_t at, T number) {
    if constexpr (std::is_integral_v<T>)
        static_cast<std::int64_t*>(value.data)[at] = static_cast<std::int64_t>(number);
    else
        static_cast<double*>(value.data)[at] = static_cast<double>(number);
}

template <class T>
struct To {
    static_assert(std::is_arithmetic_v<T>, "a function must return a number or a std::vector of numbers");
    static Value make(const T& found) {
        Value value = room_for<T>(0, 1, 1);
        put<T>(value, 0, found);
        return value;
    }
};

template <class T>
struct To<std::vector<T>> {
    static Value make(const std::vector<T>& found) {
        Value value = room_for<T>(1, static_cast<std::int64_t>(found.size()), 1);
        for (std::size_t at = 0; at < found.size(); ++at) put<T>(value, static_cast<std::int64_t>(at), found[at]);
        return value;
    }
};

template <class T>
struct To<std::vector<std::vector<T>>> {
    static Value make(const std::vector<std::vector<T>>& found) {
        const std::size_t columns = found.empty() ? 0 : found[0].size();
        for (const auto& row : found)
            if (row.size() != columns) throw std::invalid_argument("returned rows of different lengths");
        Value value = room_for<T>(2, static_cast<std::int64_t>(found.size()), static_cast<std::int64_t>(columns));
        std::int64_t at = 0;
        for (const auto& row : found)
            for (std::size_t place = 0; place < columns; ++place) put<T>(value, at++, static_cast<T>(row[place]));
        return value;
    }
};

template <class R, class... A, std::size_t... Place>
Value called(R (*function)(A...), const Value* given, std::index_sequence<Place...>) {
    std::tuple<std::decay_t<A>...> values{From<std::decay_t<A>>::make(given[Place])...};
    return To<std::decay_t<R>>::make(function(static_cast<A>(std::get<Place>(values))...));
}

template <class R, class... A>
Value call(R (*function)(A...), const Value* given, int count) {
    if (count != static_cast<int>(sizeof...(A)))
        throw std::invalid_argument("takes " + std::to_string(sizeof...(A)) + " arguments, and is called with " +
                                    std::to_string(count));
    return called(function, given, std::index_sequence_for<A...>{});
}

template <class Table>
int answer(Table&& table, Value* result, char* message, std::int64_t room) {
    int code = 1;
    try {
        *result = table();
        return 0;
    } catch (const std::bad_alloc&) {
        code = 2;
    } catch (const std::exception& problem) {
        std::strncpy(message, problem.what(), static_cast<std::size_t>(room - 1));
    } catch (...) {
        std::strncpy(message, "an exception that is no std::exception", static_cast<std::size_t>(room - 1));
    }
    return code;
}

}  // namespace oragent
